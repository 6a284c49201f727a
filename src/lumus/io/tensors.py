"""Saving and loading tensors and modules as safetensors files: plain data, no code."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np

from lumus.core.construct import new_tensor
from lumus.core.device import Device, device_named
from lumus.core.spec import spec_of
from lumus.core.tensor import Tensor
from lumus.errors import DTypeError, FileFormatError, KindError
from lumus.io.atomic import replacing
from lumus.io.header import Entry, damaged, layout, read_header

PathLike = str | os.PathLike[str]


class HasState(Protocol):
    """Something with named tensors to save and load: a `Module`, or a class of your own."""

    def state_dict(self) -> Mapping[str, Tensor[Any]]:
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

    Views are written as their elements in row-major order; tensors that share memory are written
    each. The file is made beside `path` and moved over it, so an interrupted save leaves the old
    one intact. The same tensors and metadata give the same bytes.

    **Raises.** KindError for a value that is not a tensor, ArgumentError for a name or metadata
    that the format cannot hold, OSError for a place that cannot be written.

    >>> import lumus as lm, tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "x.safetensors"
    ...     lm.io.save(file, {"x": lm.tensor([1.0, 2.0])})
    ...     lm.io.load(file)["x"].tolist()
    [1.0, 2.0]
    """
    state = dict(tensors if isinstance(tensors, Mapping) else tensors.state_dict())
    for name, tensor in state.items():
        if not isinstance(tensor, Tensor):
            raise KindError(f"save: {name!r} is {type(tensor).__name__}, not a tensor")
    header, order = layout({name: one.spec for name, one in state.items()}, metadata or {})
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(header)
        for name in order:
            tensor = state[name]
            file.write(_bytes(tensor.device.copy_out(tensor.data, tensor.spec)))


def load(
    path: PathLike, *, names: Sequence[str] | None = None, device: str | Device | None = None
) -> dict[str, Tensor[Any]]:
    """Reads the tensors of a safetensors file: all of them, or those in `names`.

    Every claim of the header is checked before anything is allocated.

    **Raises.** FileFormatError for a damaged or foreign file, which it describes, and for a name
    that is not there; DTypeError for a tensor of a dtype that lumus does not have (name the others
    to read them); OSError for a file that cannot be read.
    """
    place = device_named(device)
    with Path(path).open("rb") as file:
        entries, _, start = read_header(file, os.fstat(file.fileno()).st_size, str(path))
        chosen = entries if names is None else {name: _find(entries, name, path) for name in names}
        for entry in chosen.values():
            if entry.dtype is None:
                raise DTypeError(
                    f"load: tensor {entry.name!r} is of dtype {entry.label}, "
                    "which lumus does not have",
                    hint="give names= of the other tensors to read those",
                )
        return {name: _read(file, start, entry, place, path) for name, entry in chosen.items()}


def load_metadata(path: PathLike) -> dict[str, str]:
    """The strings stored beside the tensors of a safetensors file; raises FileFormatError."""
    with Path(path).open("rb") as file:
        return read_header(file, os.fstat(file.fileno()).st_size, str(path))[1]


def load_module(path: PathLike, module: HasState, *, strict: bool = True) -> None:
    """Loads a file into a module; raises FileFormatError, and as `Module.load_state_dict` does."""
    module.load_state_dict(load(path), strict=strict)


def _bytes(array: Any) -> Any:
    # As bytes: `write` does not take the formats that the buffers of bool and half precision have.
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _read(file: BinaryIO, start: int, entry: Entry, place: Device, path: PathLike) -> Tensor[Any]:
    assert entry.dtype is not None
    file.seek(start + entry.start)
    raw = np.fromfile(file, np.uint8, entry.stop - entry.start)
    if raw.size != entry.stop - entry.start:
        raise damaged(str(path), f"it ended within tensor {entry.name!r} while it was read")
    if entry.dtype.kind == "bool" and raw.size and raw.max() > 1:
        raise damaged(str(path), f"tensor {entry.name!r}: a Bool byte is {raw.max()}, not 0 or 1")
    spec = spec_of(entry.shape, entry.dtype, place)
    typed = raw.view(entry.dtype.numpy_name).reshape(entry.shape)
    loaded: Tensor[Any] = new_tensor(place.copy_in(typed, spec), spec)
    return loaded


def _find(entries: Mapping[str, Entry], name: str, path: PathLike) -> Entry:
    if name not in entries:
        raise FileFormatError(
            f"load: {path} holds no tensor {name!r}; it has {', '.join(sorted(entries)[:20])}"
        )
    return entries[name]
