"""What users hand in beside tensors (numbers, axes, flags, dtypes), as plain Python values.

Each function raises an error that names the op and the argument. NumPy's scalars count as the
Python numbers that they stand for; a truth value is no number of steps, elements or axes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lumus.core import construct
from lumus.core.broadcast import integer, normalize_axes, normalize_axis
from lumus.core.dtypes import DType, checked_dtype
from lumus.errors import ArgumentError

if TYPE_CHECKING:
    from lumus.core.tensor import Tensor

Number = bool | int | float


def not_a_tensor(op: str, value: object) -> ArgumentError:
    """The error for something else where a tensor is expected."""
    if isinstance(value, construct.tensor_class):
        what = "a Tensor that was never initialised"
    else:
        what = type(value).__name__
    return ArgumentError(
        f"{op}: expected a tensor, got {what}", hint="make one with lumus.tensor(...)", op=op
    )


def check_tensors(op: str, *values: object) -> None:
    """Raises ArgumentError for the first that is no tensor."""
    for value in values:
        if not isinstance(value, construct.tensor_class):
            raise not_a_tensor(op, value)


def check_arguments(op: str, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> None:
    """Raises ArgumentError for inputs that are no tensors and attrs that cannot be compared."""
    check_tensors(op, *inputs)
    for name, value in attrs.items():
        try:
            hash(value)
        except TypeError:
            what = type(value).__name__
            raise ArgumentError(f"{op}: {name} cannot be of type {what}", op=op) from None


def axis_of(op: str, x: Tensor[Any], axis: int) -> int:
    """An axis of `x`, counted from the front."""
    try:
        ndim = x.spec.ndim
    except AttributeError:
        raise not_a_tensor(op, x) from None
    return normalize_axis(op, axis, ndim)


def axes_of(op: str, x: Tensor[Any], axis: int | Sequence[int] | None) -> tuple[int, ...]:
    """Axes of `x`, counted from the front and sorted; None means all."""
    try:
        ndim = x.spec.ndim
    except AttributeError:
        raise not_a_tensor(op, x) from None
    return normalize_axes(op, axis, ndim)


def number(op: str, name: str, value: Any) -> Number:
    """A bool, int or float."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | float):
        return value
    hint = "take it out with .item()" if isinstance(value, construct.tensor_class) else None
    raise ArgumentError(f"{op}: {name} must be a number, got {_shown(value)}", hint=hint, op=op)


def real(op: str, name: str, value: Any) -> float:
    """A number as a float, possibly NaN or infinite."""
    plain = number(op, name, value)
    if isinstance(plain, bool):
        raise ArgumentError(f"{op}: {name} must be a number, got {plain}", op=op)
    try:
        return float(plain)
    except OverflowError:
        raise ArgumentError(f"{op}: {name} is too large for a float", op=op) from None


def finite(op: str, name: str, value: Any) -> float:
    """A number as a float, neither NaN nor infinite."""
    result = real(op, name, value)
    if not math.isfinite(result):
        raise ArgumentError(f"{op}: {name} must be finite, got {result}", op=op)
    return result


def positive(op: str, name: str, value: Any) -> float:
    """A number above 0 as a float, not infinite."""
    result = finite(op, name, value)
    if not result > 0:
        raise ArgumentError(f"{op}: {name} must be positive, got {result}", op=op)
    return result


def not_negative(op: str, name: str, value: Any) -> float:
    """A number of at least 0 as a float, not infinite."""
    result = finite(op, name, value)
    if not result >= 0:
        raise ArgumentError(f"{op}: {name} cannot be negative, got {result}", op=op)
    return result


def flag(op: str, name: str, value: Any) -> bool:
    """True or False; 1 and 0 will do."""
    if isinstance(value, bool | np.bool_) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise ArgumentError(f"{op}: {name} must be True or False, got {_shown(value)}", op=op)


def choice(op: str, name: str, value: Any, allowed: Sequence[str], hint: str | None = None) -> str:
    """One of the words allowed."""
    if isinstance(value, str) and value in allowed:
        return value
    *others, last = map(repr, allowed)
    listed = f"{', '.join(others)} or {last}" if others else last
    raise ArgumentError(f"{op}: {name} must be {listed}, got {_shown(value)}", hint=hint, op=op)


def _shown(value: Any) -> str:
    """The value if its text is short, else its type."""
    if isinstance(value, construct.tensor_class):
        return f"a tensor ({value.spec!r})"
    if isinstance(value, bool | int | float | str | bytes | None | type) and len(str(value)) < 40:
        return repr(value)
    return type(value).__name__


# Static arguments, as the annotations of attrs write them.
# ----------------------------------------------------------------------------------------------


def integers(op: str, name: str, values: Any) -> tuple[int, ...]:
    """A sequence of integers."""
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise ArgumentError(f"{op}: {name} must be integers, got {_shown(values)}", op=op)
    return tuple(integer(op, name, value) for value in values)


def _optional_integer(op: str, name: str, value: Any) -> int | None:
    return None if value is None else integer(op, name, value)


def _dtype(op: str, name: str, value: Any) -> DType[Any]:
    return checked_dtype(value, op)


_BY_ANNOTATION: dict[str, Any] = {
    "DType[Any]": _dtype,
    "Shape": integers,
    "bool": flag,
    "float": real,
    "float | int": number,
    "int": integer,
    "int | None": _optional_integer,
    "tuple[int, ...]": integers,
}


def plain_attrs(op: str, annotations: dict[str, str], values: dict[str, Any]) -> dict[str, Any]:
    """The static arguments of an op as values of the types that its attrs declare.

    A plan is found again by values that are merely equal: True, 1 and 1.0 are one key. What is
    kept must therefore be the same whichever of them came first, and right for the kernel.
    """
    return {
        name: _BY_ANNOTATION[kind](op, name, value) if kind in _BY_ANNOTATION else value
        for (name, value), kind in zip(values.items(), annotations.values(), strict=True)
    }
