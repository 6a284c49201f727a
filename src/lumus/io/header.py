"""The header of a safetensors file, read with suspicion: every claim is checked before it is used."""

from __future__ import annotations

import json
import math
from typing import Any, BinaryIO, cast

from lumus.core.dtypes import DType, bfloat16, bool_, dtype_named
from lumus.core.frozen import frozen
from lumus.errors import FileFormatError

MAX_HEADER_BYTES = 100_000_000

NAMES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
}


@frozen
class Entry:
    """Where a tensor lies in the file, as the header says and the checks confirm.

    `dtype` is None for one that lumus does not have; such a tensor cannot be read, but others can.
    """

    name: str
    dtype: DType[Any] | None
    label: str
    shape: tuple[int, ...]
    start: int
    stop: int


def read_header(
    file: BinaryIO, size: int, path: str
) -> tuple[dict[str, Entry], dict[str, str], int]:
    """(entries, metadata, where the data begin); raises FileFormatError for anything irregular."""
    if size < 8:
        raise _error(path, f"it has {size} bytes, fewer than the 8 of a header length", file)
    length = int.from_bytes(file.read(8), "little")
    if length > min(size - 8, MAX_HEADER_BYTES) or length == 0:
        raise _error(
            path,
            f"its header claims {length} bytes, the file has {size - 8} after the length "
            f"(and at most {MAX_HEADER_BYTES} are read)",
            file,
        )
    text = file.read(length)
    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise _error(path, f"its header is no JSON object: {error}", file) from None
    if not isinstance(header, dict):
        raise _error(path, "its header is no JSON object", file)
    metadata = _metadata(header.pop("__metadata__", {}), path)
    entries = {name: _entry(name, value, path) for name, value in header.items()}
    _check_cover(list(entries.values()), size - 8 - length, path)
    return entries, metadata, 8 + length


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {twice!r} stands in it twice")
    return found


def _metadata(value: Any, path: str) -> dict[str, str]:
    if not isinstance(value, dict) or not all(
        isinstance(one, str) for one in cast("dict[str, Any]", value).values()
    ):
        raise _error(path, "its __metadata__ is not an object of strings")
    return cast("dict[str, str]", value)


def _entry(name: str, value: Any, path: str) -> Entry:
    if not isinstance(value, dict) or set(cast("dict[str, Any]", value)) != {
        "dtype",
        "shape",
        "data_offsets",
    }:
        raise _error(path, f"tensor {name!r}: the entry needs dtype, shape and data_offsets")
    entry = cast("dict[str, Any]", value)
    shape, offsets, label = entry["shape"], entry["data_offsets"], entry["dtype"]
    if not _naturals(shape):
        raise _error(path, f"tensor {name!r}: shape {shape!r} is no list of lengths")
    if not _naturals(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise _error(path, f"tensor {name!r}: data_offsets {offsets!r} are no [begin, end]")
    dtype = dtype_named(NAMES[label]) if isinstance(label, str) and label in NAMES else None
    start, stop = offsets
    if dtype is not None and math.prod(shape) * dtype.itemsize != stop - start:
        raise _error(
            path,
            f"tensor {name!r}: shape {shape} of {label} takes {math.prod(shape) * dtype.itemsize} "
            f"bytes, data_offsets {offsets} hold {stop - start}",
        )
    return Entry(name, dtype, str(label), tuple(shape), start, stop)


def _naturals(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, int) and not isinstance(one, bool) and one >= 0
        for one in cast("list[Any]", value)
    )


def _check_cover(entries: list[Entry], size: int, path: str) -> None:
    """The tensors must follow each other without gaps or overlaps and end with the file."""
    position = 0
    for entry in sorted(entries, key=lambda one: (one.start, one.stop)):
        if entry.start != position:
            what = "overlaps the one before" if entry.start < position else "leaves a gap before it"
            raise _error(
                path, f"tensor {entry.name!r}: begins at {entry.start}, {what} (at {position})"
            )
        position = entry.stop
    if position != size:
        raise _error(path, f"its tensors end at byte {position} of the data, the file has {size}")


def _error(path: str, what: str, file: BinaryIO | None = None) -> FileFormatError:
    hint = None
    if file is not None:
        file.seek(0)
        start = file.read(200)
        if start.startswith(b"version https://git-lfs"):
            hint = "this is a Git LFS pointer, not the file itself: fetch it with `git lfs pull`"
        elif start.lstrip()[:1] == b"<":
            hint = "this looks like a web page, perhaps an error page instead of the download"
        elif start[:2] in (b"\x80\x02", b"\x80\x04", b"PK"):
            hint = "this looks like a pickle or zip checkpoint; lumus runs no code from files"
    return FileFormatError(f"{path} is no valid safetensors file: {what}", hint=hint, path=path)


def label_of(dtype: DType[Any]) -> str:
    """The name by which the safetensors package knows a dtype."""
    return "bool" if dtype is bool_ else "bfloat16" if dtype is bfloat16 else dtype.name
