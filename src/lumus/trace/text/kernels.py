"""Kernels of a saved program as text, and back: classes of a closed table, field by field."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from inspect import get_annotations
from typing import Any, Literal, NamedTuple, cast, get_args

from lumus.core import kernels, resampling
from lumus.core.dtypes import BY_NAME, DType
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.outside import Callback
from lumus.core.kernels.product import WithEpilogue
from lumus.trace.text.cursor import Cursor, MalformedError
from lumus.trace.text.expressions import expression_text, read_expression
from lumus.trace.text.values import read_flag, tuple_text

KERNELS: dict[str, type[Kernel]] = {
    name: value
    for name, value in vars(kernels).items()
    if isinstance(value, type)
    and issubclass(value, Kernel)
    and value not in (Kernel, Callback, WithEpilogue)
}
"""The kernels that can be saved, by name.

All but the base, Python code, and what only passes make, since programs are saved before them.
"""


def kernel_text(kernel: Kernel) -> str:
    """``Softmax(axis=1, log=False)``; raises MalformedError for a kernel that cannot be written."""
    if KERNELS.get(type(kernel).__name__) is not type(kernel):
        raise MalformedError(f"kernel {kernel.name} cannot be saved: {_reason(kernel)}")
    return _record_text(kernel)


def _reason(kernel: Kernel) -> str:
    if isinstance(kernel, WithEpilogue):
        return "only passes make it; save the program as it was traced"
    return "it is Python code" if isinstance(kernel, Callback) else "it is none of lumus's own"


def read_kernel(cursor: Cursor) -> Kernel:
    """A kernel that `kernel_text` wrote."""
    kind = KERNELS.get(cursor.next.text)
    if kind is None:
        cursor.fail("a kernel")
    return cast("Kernel", _read_record(cursor, kind))


def _record_text(value: Any) -> str:
    fields = _fields(type(value))
    said = [f"{name}={field.text(getattr(value, name))}" for name, field in fields.items()]
    return f"{type(value).__name__}({', '.join(said)})"


def _read_record(cursor: Cursor, kind: type[Any]) -> Any:
    cursor.expect(kind.__name__, "(")
    values: list[Any] = []
    for name, field in _fields(kind).items():
        if values:
            cursor.expect(",")
        cursor.expect(name, "=")
        values.append(field.read(cursor))
    cursor.expect(")")
    return kind(*values)


class Field(NamedTuple):
    """How the values of fields of one type are written and read."""

    text: Callable[[Any], str]
    read: Callable[[Cursor], Any]


def _fields(kind: type[Any]) -> dict[str, Field]:
    """The fields of a class, in order, by the types that they are annotated with."""
    annotations: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        annotations.update(get_annotations(base))
    return {name: FIELDS[annotations[name]] for name in kind.field_names}


def _read_float(cursor: Cursor) -> float:
    column, value = cursor.next.column, cursor.number()
    if not isinstance(value, float):
        raise MalformedError(f"column {column}: expected a float, got {value}")
    return value


def _number_text(value: float) -> str:
    return repr(float(value)) if isinstance(value, float) else str(int(value))


def _read_dtype(cursor: Cursor) -> DType[Any]:
    if cursor.next.text not in BY_NAME:
        cursor.fail("a dtype")
    return BY_NAME[cursor.word()]


def _choice(alias: Any) -> Field:
    words = get_args(alias)

    def read(cursor: Cursor) -> str:
        column, value = cursor.next.column, cursor.string()
        if value not in words:
            raise MalformedError(
                f"column {column}: {value!r} is none of {', '.join(map(repr, words))}"
            )
        return value

    return Field(json.dumps, read)


def _optional(field: Field) -> Field:
    return Field(
        lambda value: "None" if value is None else field.text(value),
        lambda cursor: None if cursor.skip("None") else field.read(cursor),
    )


def _sequence(field: Field, length: int | None = None) -> Field:
    def text(values: Sequence[Any]) -> str:
        return tuple_text([field.text(value) for value in values])

    def read(cursor: Cursor) -> tuple[Any, ...]:
        column = cursor.next.column
        cursor.expect("(")
        values = tuple(cursor.items(lambda: field.read(cursor), ")"))
        if length is not None and len(values) != length:
            raise MalformedError(f"column {column}: expected {length} items, got {len(values)}")
        return values

    return Field(text, read)


def _record(kind: type[Any]) -> Field:
    return Field(_record_text, lambda cursor: _read_record(cursor, kind))


_FLAG = Field(lambda value: str(bool(value)), read_flag)
_INTEGER = Field(lambda value: str(int(value)), lambda cursor: cursor.integer())
_FLOAT = Field(lambda value: repr(float(value)), _read_float)
_STRING = Field(json.dumps, lambda cursor: cursor.string())
_INTEGERS = _sequence(_INTEGER)
_EXPRESSION = Field(expression_text, read_expression)

FIELDS: dict[str, Field] = {
    "CellKind": _choice(kernels.CellKind),
    "Continuation": _choice(kernels.Continuation),
    "DType[Kind]": Field(lambda value: str(value.name), _read_dtype),
    "Distribution": _choice(kernels.Distribution),
    "Expression": _EXPRESSION,
    "Expression | None": _optional(_EXPRESSION),
    "Extents": _sequence(_INTEGER, 4),
    "Literal['max', 'min']": _choice(Literal["max", "min"]),
    "Literal['mean', 'sum', 'none']": _choice(Literal["mean", "sum", "none"]),
    "Over": _choice(kernels.Over),
    "ReduceKind": _choice(kernels.ReduceKind),
    "ResampleMode": _choice(resampling.ResampleMode),
    "Scaling": _choice(kernels.Scaling),
    "ScanKind": _choice(kernels.ScanKind),
    "Shape": _INTEGERS,
    "bool": _FLAG,
    "float": _FLOAT,
    "float | int": Field(_number_text, lambda cursor: cursor.number()),
    "int": _INTEGER,
    "int | None": _optional(_INTEGER),
    "str": _STRING,
    "str | None": _optional(_STRING),
    "tuple[PoolAxis, ...]": _sequence(_record(kernels.PoolAxis)),
    "tuple[ResampleAxis, ...]": _sequence(_record(resampling.ResampleAxis)),
    "tuple[bool, bool, bool]": _sequence(_FLAG, 3),
    "tuple[int, ...]": _INTEGERS,
    "tuple[int, int]": _sequence(_INTEGER, 2),
}
"""By the types that the fields of kernels are annotated with."""
