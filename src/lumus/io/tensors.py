"""Saving and loading tensors and modules as safetensors files: plain data, no code."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from lumus.core.construct import new_tensor
from lumus.core.device import Device, device_named
from lumus.core.spec import spec_of
from lumus.core.tensor import Tensor
from lumus.errors import DTypeError, FileFormatError, KindError
from lumus.io.atomic import replacing
from lumus.io.header import Entry, label_of, read_header

PathLike = str | os.PathLike[str]


class HasState(Protocol):
    """Something with named tensors to save and load: a `Module`, or a class of your own."""

    def state_dict(self) -> dict[str, Tensor[Any]]:
        """Its tensors by name."""
        ...

    def load_state_dict(self, state: Mapping[str, Tensor[Any]], *, strict: bool = True) -> None:
        """Takes over such tensors."""
        ...


def save(
    path: PathLike,
    tensors: Mapping[str, Tensor[Any]] | HasState,
    *,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Writes tensors (or a module's `state_dict`) to a safetensors file, whole or not at all.

    Views are written as their elements in row-major order; tensors that share memory are written each.
    The file is made beside `path` and moved over it, so an interrupted save leaves the old one intact.

    **Raises.** KindError for a value that is not a tensor, OSError for a folder that cannot be written.

    >>> import lumus as lm, tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "x.safetensors"
    ...     lm.io.save(file, {"x": lm.tensor([1.0, 2.0])})
    ...     lm.io.load(file)["x"].tolist()
    [1.0, 2.0]
    """
    import safetensors

    state = dict(tensors) if isinstance(tensors, Mapping) else tensors.state_dict()
    arrays: dict[str, Any] = {}
    specs: dict[str, Any] = {}
    for name, tensor in state.items():
        if not isinstance(name, str) or not isinstance(tensor, Tensor):
            raise KindError(f"save: {name!r} is {type(tensor).__name__}, not a tensor")
        arrays[name] = array = np.ascontiguousarray(
            tensor.device.copy_out(tensor.data, tensor.spec)
        )
        specs[name] = safetensors.TensorSpec(
            dtype=label_of(tensor.dtype),
            shape=list(tensor.shape),
            data_ptr=array.ctypes.data,
            data_len=array.nbytes,
        )
    with replacing(path) as temporary:
        safetensors.serialize_file(specs, str(temporary), dict(metadata) if metadata else None)


def load(
    path: PathLike, *, names: Sequence[str] | None = None, device: str | Device | None = None
) -> dict[str, Tensor[Any]]:
    """Reads the tensors of a safetensors file: all of them, or those in `names`.

    Every claim of the header is checked before anything is allocated.

    **Raises.** FileFormatError for a damaged or foreign file, which it describes; DTypeError for a
    tensor of a dtype that lumus does not have (name the others to read them); FileFormatError for a name that
    is not there; OSError for a file that cannot be read.
    """
    place = device_named(device)
    with Path(path).open("rb") as file:
        entries, _, start = read_header(file, os.fstat(file.fileno()).st_size, str(path))
        chosen = entries if names is None else {name: _find(entries, name, path) for name in names}
        for entry in chosen.values():
            if entry.dtype is None:
                raise DTypeError(
                    f"load: tensor {entry.name!r} is of dtype {entry.label}, which lumus does not have",
                    hint="give names= of the other tensors to read those",
                )
        loaded: dict[str, Tensor[Any]] = {}
        for name, entry in chosen.items():
            assert entry.dtype is not None
            file.seek(start + entry.start)
            array = np.fromfile(file, np.uint8, entry.stop - entry.start)
            spec = spec_of(entry.shape, entry.dtype, place)
            typed = array.view(entry.dtype.numpy_name).reshape(entry.shape)
            loaded[name] = new_tensor(place.copy_in(typed, spec), spec)
        return loaded


def load_metadata(path: PathLike) -> dict[str, str]:
    """The strings stored beside the tensors of a safetensors file; raises FileFormatError."""
    with Path(path).open("rb") as file:
        return read_header(file, os.fstat(file.fileno()).st_size, str(path))[1]


def load_module(path: PathLike, module: HasState, *, strict: bool = True) -> None:
    """Loads a file into a module; see `Module.load_state_dict`. Raises FileFormatError, StateError."""
    module.load_state_dict(load(path), strict=strict)


def _find(entries: Mapping[str, Entry], name: str, path: PathLike) -> Entry:
    if name not in entries:
        raise FileFormatError(
            f"load: {path} holds no tensor {name!r}; it has {', '.join(sorted(entries)[:20])}"
        )
    return entries[name]
