"""Plain values of a saved program as text, and back: numbers, words, dtypes, types of values."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from lumus.core.broadcast import MAX_AXES
from lumus.core.device import Device
from lumus.core.dtypes import BY_NAME, DType
from lumus.core.spec import Spec, spec_of
from lumus.trace.text.cursor import MAX_INTEGER, Cursor, MalformedError

MAX_ELEMENTS = (2**63 - 1) // 8


def plain_text(value: Any) -> str | None:
    """None, a bool, an int, a float, text or a dtype; None for any other value."""
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return str(int(value)) if -MAX_INTEGER <= value < 2 * MAX_INTEGER else None
    if isinstance(value, float):
        return repr(float(value))
    if isinstance(value, str):
        return json.dumps(value)
    return value.name if isinstance(value, DType) else None


WORDS: dict[str, Any] = {"None": None, "True": True, "False": False, **BY_NAME}


def read_plain(cursor: Cursor) -> Any:
    """A value that `plain_text` wrote."""
    kind = cursor.next.kind
    if kind == "string":
        return cursor.string()
    if kind == "number":
        return cursor.number()
    if kind == "word" and cursor.next.text in WORDS:
        return WORDS[cursor.word()]
    return cursor.fail("a value")


def spec_text(spec: Spec) -> str:
    """``float32[2, 3]``."""
    return f"{spec.dtype.name}[{', '.join(map(str, spec.shape))}]"


def read_spec(cursor: Cursor, device: Device) -> Spec:
    """A spec that `spec_text` wrote, on a device."""
    dtype = BY_NAME.get(cursor.next.text)
    if dtype is None:
        cursor.fail("a dtype")
    cursor.word()
    column = cursor.next.column
    cursor.expect("[")
    shape = cursor.items(cursor.integer, "]")
    if len(shape) > MAX_AXES or any(length < 0 for length in shape):
        raise MalformedError(f"column {column}: {shape} is no shape")
    if math.prod([max(length, 1) for length in shape]) > MAX_ELEMENTS:
        raise MalformedError(f"column {column}: {shape} has more elements than there can be")
    return spec_of(tuple(shape), dtype, device)


def read_flag(cursor: Cursor) -> bool:
    """True or False."""
    if cursor.next.text not in ("True", "False"):
        cursor.fail("True or False")
    return cursor.word() == "True"


def tuple_text(items: Sequence[str]) -> str:
    """``(a, b)``, or ``(a,)``."""
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
