"""arange and linspace: evenly spaced numbers."""

from __future__ import annotations

import math
import operator
from typing import Any, Literal, cast, overload

from lumus.core import kernels
from lumus.core.argument import finite, number, real
from lumus.core.broadcast import Shape, check_shape, integer
from lumus.core.construct import made_tensor
from lumus.core.device import Device, device_named, out_of_memory
from lumus.core.dtypes import DEFAULT, INT_RANGE, DType, checked_dtype, float32
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Float, Int, K
from lumus.core.spec import spec_of
from lumus.core.tensor import Tensor, leaf
from lumus.errors import ArgumentError, DTypeError, KindError


@overload
def arange(
    start: int,
    stop: int | None = None,
    step: int = 1,
    *,
    dtype: None = None,
    device: str | Device | None = None,
    requires_grad: Literal[False] = False,
) -> Tensor[Int]: ...
@overload
def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: None = None,
    device: str | Device | None = None,
    requires_grad: bool = False,
) -> Tensor[Float]: ...
@overload
def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType[Float],
    device: str | Device | None = None,
    requires_grad: bool = False,
) -> Tensor[Float]: ...
@overload
def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType[K],
    device: str | Device | None = None,
    requires_grad: Literal[False] = False,
) -> Tensor[K]: ...
def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType[Any] | None = None,
    device: str | Device | None = None,
    requires_grad: bool = False,
) -> Tensor[Any]:
    """The numbers ``start + i * step`` below `stop` (above it for a negative step).

    With one argument it is the stop, and the start is 0. There are ``ceil((stop - start) / step)``
    of them, computed in float64 (ints exactly), each rounded to the dtype once.

    **Shapes.** One axis.
    **Kinds.** By `dtype`; without it int64 if all arguments are ints, else float32.
    **Gradient.** `requires_grad=True` makes it a leaf.
    **Raises.** ArgumentError for a step of 0 or arguments that are not finite, KindError for Bool
    or for an Int dtype with arguments that are not ints, DTypeError for numbers that the dtype
    cannot hold.

    >>> import lumus as lm
    >>> lm.arange(1, 7, 2).tolist()
    [1, 3, 5]
    """
    start, step = _number("start", start), _number("step", step)
    if stop is None:
        start, stop = 0, start
    stop = _number("stop", stop)
    ints = isinstance(start, int) and isinstance(stop, int) and isinstance(step, int)
    if dtype is None:
        dtype = DEFAULT["int" if ints else "float"]
    checked_dtype(dtype, "arange")
    if dtype.kind == "bool" or (dtype.kind == "int" and not ints):
        raise KindError(
            f"arange: {dtype.name} from arguments {start!r}, {stop!r}, {step!r}",
            hint="give a Float dtype" if dtype.kind == "int" else "give an Int or Float dtype",
            op="arange",
        )
    bounded = ints or all(
        math.isfinite(real("arange", "each number", one)) for one in (start, stop, step)
    )
    if step == 0 or not bounded:
        raise ArgumentError(
            f"arange: start, stop and step must be finite and step not 0, got {start}, "
            f"{stop}, {step}",
            op="arange",
        )
    if ints:
        count = max(0, -((cast("int", start) - cast("int", stop)) // cast("int", step)))
        # What no element depends on may be of any size.
        start, step = (start if count else 0), (step if count > 1 else 1)
        last = start + (count - 1) * step
        low, high = INT_RANGE[dtype.name if dtype.kind == "int" else "int64"]
        fits = not count or (low <= min(start, last) and max(start, last) <= high)
        if dtype.kind == "float" and not (fits and low <= step <= high):
            start, step = real("arange", "start", start), real("arange", "step", step)
        elif not fits:
            raise DTypeError(
                f"arange: the numbers {start} to {last} do not fit into {dtype.name}", op="arange"
            )
    else:
        count = max(0, _ceil((stop - start) / step))
        start, step = float(start), float(step)
    kernel = kernels.Arange(start, step, count, dtype)
    return _made("arange", kernel, (count,), dtype, device, requires_grad)


def _ceil(count: float) -> int:
    """The least int that is not below; for a quotient that overflowed, one beyond every shape."""
    return math.ceil(count) if math.isfinite(count) else 2**63


def linspace(
    start: float,
    stop: float,
    count: int,
    *,
    dtype: DType[Float] = float32,
    device: str | Device | None = None,
    requires_grad: bool = False,
) -> Tensor[Float]:
    """`count` numbers evenly from `start` to `stop`, both included: the last is exactly `stop`.

    **Shapes.** One axis of length `count`.
    **Kinds.** Float, float32 by default.
    **Gradient.** `requires_grad=True` makes it a leaf.
    **Raises.** ArgumentError for a negative count or ends that are not finite, KindError for a
    dtype that is not Float.

    >>> import lumus as lm
    >>> lm.linspace(0.0, 1.0, 3).tolist()
    [0.0, 0.5, 1.0]
    """
    count = integer("linspace", "count", count)
    if count < 0:
        raise ArgumentError(f"linspace: count cannot be negative, got {count}", op="linspace")
    if checked_dtype(dtype, "linspace").kind != "float":
        raise KindError(f"linspace: needs a Float dtype, got {dtype.name}", op="linspace")
    first, last = finite("linspace", "start", start), finite("linspace", "stop", stop)
    kernel = kernels.Linspace(first, last, count, dtype)
    return _made("linspace", kernel, (count,), dtype, device, requires_grad)


def _number(name: str, value: Any) -> int | float:
    """A Python number: an int for what counts as one (NumPy's ints, 0-d Int tensors)."""
    try:
        return operator.index(value)
    except TypeError:
        return number("arange", name, value)


def _made(
    op: str,
    kernel: Kernel,
    shape: Shape,
    dtype: DType[Any],
    device: str | Device | None,
    requires_grad: bool,
) -> Tensor[Any]:
    place = device_named(device)
    check_shape(op, shape)
    spec = spec_of(shape, dtype, place)
    try:
        made: Tensor[Any] = made_tensor(place.prepare(kernel, (), (spec,))(), spec)
    except MemoryError:
        raise out_of_memory(op, spec) from None
    return leaf(made, requires_grad)
