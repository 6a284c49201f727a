"""The header of a safetensors file: written the same each time, read with suspicion.

Layout: eight bytes of length, little-endian; that many bytes of JSON, ``{"name": {"dtype": "F32",
"shape": [2], "data_offsets": [0, 8]}, ...}`` and perhaps strings under ``__metadata__``; the data.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from reprlib import repr as short
from typing import Any, BinaryIO, cast

from lumus.core.dtypes import DType, dtype_named
from lumus.core.frozen import frozen
from lumus.core.spec import Spec
from lumus.errors import ArgumentError, FileFormatError

MAX_HEADER_BYTES = 100_000_000
MAX_RANK = 16
MAX_ELEMENTS = (2**63 - 1) // 8
METADATA = "__metadata__"

# In the order in which the reference implementation writes them: wide elements first, so that every
# tensor lies at a multiple of its element's size.
NAMES = {
    "I64": "int64",
    "F64": "float64",
    "F32": "float32",
    "I32": "int32",
    "BF16": "bfloat16",
    "F16": "float16",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
}
LABELS = {name: label for label, name in NAMES.items()}
PLACES = {name: place for place, name in enumerate(LABELS)}


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


def layout(specs: Mapping[str, Spec], metadata: Mapping[str, str]) -> tuple[bytes, list[str]]:
    """(the bytes before the tensors, the names in the order of their data) of a file to write.

    The header is padded to a multiple of eight bytes. Raises ArgumentError for names and metadata
    that the format cannot hold.
    """
    for one in (*specs, *metadata, *metadata.values()):
        if not _is_unicode(one):
            raise ArgumentError(f"save: names and metadata must be text, got {short(one)}")
    if METADATA in specs:
        raise ArgumentError(
            f"save: a tensor cannot be named {METADATA!r}, the format uses that name"
        )
    order = sorted(specs, key=lambda name: (PLACES[specs[name].dtype.name], name))
    header: dict[str, Any] = {METADATA: dict(sorted(metadata.items()))} if metadata else {}
    start = 0
    for name in order:
        spec = specs[name]
        stop = start + spec.nbytes
        label = LABELS[spec.dtype.name]
        header[name] = {"dtype": label, "shape": spec.shape, "data_offsets": (start, stop)}
        start = stop
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text, order


def _is_unicode(text: Any) -> bool:
    return isinstance(text, str) and not any("\ud800" <= one <= "\udfff" for one in text)


def read_header(
    file: BinaryIO, size: int, path: str
) -> tuple[dict[str, Entry], dict[str, str], int]:
    """(entries, metadata, where the data begin); raises FileFormatError for anything irregular."""
    if size < 8:
        raise damaged(path, f"it has {size} bytes, fewer than the 8 of a header length", file)
    length = int.from_bytes(file.read(8), "little")
    if not 0 < length <= size - 8:
        raise damaged(
            path,
            f"its header claims {length} bytes, the file has {size - 8} after the length",
            file,
        )
    if length > MAX_HEADER_BYTES:
        raise damaged(path, f"its header has {length} bytes, at most {MAX_HEADER_BYTES} are read")
    text = file.read(length)
    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"its header is no JSON object: {error}", file) from None
    if not isinstance(header, dict):
        raise damaged(path, "its header is no JSON object", file)
    metadata = _metadata(header.pop(METADATA, {}), path)
    entries = {name: _entry(name, value, path) for name, value in header.items()}
    _check_cover(list(entries.values()), size - 8 - length, path)
    return entries, metadata, 8 + length


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"the name {short(name)} stands in it twice")
            seen.add(name)
    return found


def _metadata(value: Any, path: str) -> dict[str, str]:
    if not isinstance(value, dict) or not all(
        isinstance(one, str) for one in cast("dict[str, Any]", value).values()
    ):
        raise damaged(path, "its __metadata__ is not an object of strings")
    return cast("dict[str, str]", value)


def _entry(name: str, value: Any, path: str) -> Entry:
    if not isinstance(value, dict) or set(cast("dict[str, Any]", value)) != {
        "dtype",
        "shape",
        "data_offsets",
    }:
        raise damaged(path, f"tensor {short(name)}: the entry needs dtype, shape and data_offsets")
    entry = cast("dict[str, Any]", value)
    shape, offsets, label = entry["shape"], entry["data_offsets"], entry["dtype"]
    if (
        not _naturals(shape)
        or math.prod(max(one, 1) for one in shape[: MAX_RANK + 1]) > MAX_ELEMENTS
    ):
        raise damaged(path, f"tensor {short(name)}: shape {short(shape)} is no list of lengths")
    if not isinstance(label, str):
        raise damaged(path, f"tensor {short(name)}: dtype {short(label)} is no name")
    if len(shape) > MAX_RANK:
        raise damaged(
            path, f"tensor {short(name)} has {len(shape)} axes, at most {MAX_RANK} are read"
        )
    if not _naturals(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise damaged(
            path, f"tensor {short(name)}: data_offsets {short(offsets)} are no [begin, end]"
        )
    dtype = dtype_named(NAMES[label]) if label in NAMES else None
    start, stop = offsets
    num_bytes = math.prod(shape) * dtype.itemsize if dtype is not None else stop - start
    if num_bytes != stop - start:
        raise damaged(
            path,
            f"tensor {short(name)}: shape {short(shape)} of {label} takes {num_bytes} bytes, "
            f"data_offsets {offsets} hold {stop - start}",
        )
    return Entry(name, dtype, short(label), tuple(shape), start, stop)


def _naturals(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in value
    )


def _check_cover(entries: list[Entry], size: int, path: str) -> None:
    """The tensors must follow each other without gaps or overlaps and end with the file."""
    position = 0
    for entry in sorted(entries, key=lambda one: (one.start, one.stop)):
        if entry.start != position:
            what = "overlaps the one before" if entry.start < position else "leaves a gap before it"
            raise damaged(
                path, f"tensor {short(entry.name)}: begins at {entry.start}, {what} (at {position})"
            )
        position = entry.stop
        if position > size:
            raise damaged(
                path, f"tensor {short(entry.name)}: ends at byte {position} of {size} bytes of data"
            )
    if position != size:
        raise damaged(path, f"its tensors end at byte {position} of the data, the file has {size}")


def damaged(path: str, what: str, file: BinaryIO | None = None) -> FileFormatError:
    """The error for such a file, with a hint where its first bytes show what it is instead."""
    hint = None
    if file is not None:
        file.seek(0)
        start = file.read(200)
        if start.startswith(b"version https://git-lfs"):
            hint = "this is a Git LFS pointer, not the file itself: fetch it with `git lfs pull`"
        elif start.lstrip()[:1] == b"<":
            hint = "this looks like a web page, perhaps an error page instead of the download"
        elif start[:2] == b"PK" or (start[:1] == b"\x80" and start[1:2] in b"\x02\x03\x04\x05"):
            hint = "this looks like a pickle or zip checkpoint; lumus runs no code from files"
    return FileFormatError(f"{path} is no valid safetensors file: {what}", hint=hint, path=path)
