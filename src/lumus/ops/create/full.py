"""full, zeros, ones, empty and their *_like forms: tensors of one value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

from lumus.core.argument import check_tensors, number
from lumus.core.broadcast import normalize_shape
from lumus.core.constant import Number, check_number
from lumus.core.construct import made_tensor
from lumus.core.device import Device, device_named
from lumus.core.dtypes import DEFAULT, DType, checked_dtype, float32
from lumus.core.kinds import Bool, Float, Int, K, KindName
from lumus.core.spec import spec_of
from lumus.core.tensor import Tensor, leaf

Shape = int | Sequence[int]


@overload
def full(
    shape: Shape,
    value: Number,
    *,
    dtype: DType[Float],
    device: str | Device | None = None,
    requires_grad: bool = False,
) -> Tensor[Float]: ...
@overload
def full(
    shape: Shape,
    value: Number,
    *,
    dtype: DType[K],
    device: str | Device | None = None,
    requires_grad: Literal[False] = False,
) -> Tensor[K]: ...
@overload
def full(
    shape: Shape,
    value: bool,
    *,
    dtype: None = None,
    device: str | Device | None = None,
    requires_grad: Literal[False] = False,
) -> Tensor[Bool]: ...
@overload
def full(
    shape: Shape,
    value: int,
    *,
    dtype: None = None,
    device: str | Device | None = None,
    requires_grad: Literal[False] = False,
) -> Tensor[Int]: ...
@overload
def full(
    shape: Shape,
    value: float,
    *,
    dtype: None = None,
    device: str | Device | None = None,
    requires_grad: bool = False,
) -> Tensor[Float]: ...
def full(
    shape: Shape,
    value: Number,
    *,
    dtype: DType[Any] | None = None,
    device: str | Device | None = None,
    requires_grad: bool = False,
) -> Tensor[Any]:
    """A tensor with `value` everywhere.

    **Shapes.** `shape`, an int for one axis or a sequence.
    **Kinds.** By `dtype`; without it by the number: float32, int64 or bool.
    **Gradient.** `requires_grad=True` makes it a leaf.
    **Raises.** KindError or DTypeError for a value that the dtype cannot hold, ShapeError for a bad
    shape.

    >>> import lumus as lm
    >>> lm.full((2,), 7.0).tolist()
    [7.0, 7.0]
    """
    value = number("full", "value", value)
    if dtype is None:
        kind: KindName = "float"
        if isinstance(value, int):
            kind = "bool" if isinstance(value, bool) else "int"
        dtype = DEFAULT[kind]
    return _filled("full", shape, value, dtype, device, requires_grad)


def _filled(
    op: str,
    shape: Shape,
    value: Number,
    dtype: DType[Any],
    device: str | Device | None,
    requires_grad: bool,
) -> Tensor[Any]:
    check_number(value, checked_dtype(dtype, op), op, "give a dtype that can hold it")
    place = device_named(device)
    spec = spec_of(normalize_shape(op, shape), dtype, place)
    made: Tensor[Any] = made_tensor(place.full(spec, value), spec)
    return leaf(made, requires_grad)


@overload
def zeros(
    shape: Shape,
    *,
    dtype: DType[Float],
    device: str | Device | None = None,
    requires_grad: bool = False,
) -> Tensor[Float]: ...
@overload
def zeros(
    shape: Shape,
    *,
    dtype: DType[K],
    device: str | Device | None = None,
    requires_grad: Literal[False] = False,
) -> Tensor[K]: ...
@overload
def zeros(
    shape: Shape,
    *,
    dtype: None = None,
    device: str | Device | None = None,
    requires_grad: bool = False,
) -> Tensor[Float]: ...
def zeros(
    shape: Shape,
    *,
    dtype: DType[Any] | None = None,
    device: str | Device | None = None,
    requires_grad: bool = False,
) -> Tensor[Any]:
    """A tensor of zeros (False for Bool), float32 by default; see `full`.

    >>> import lumus as lm
    >>> lm.zeros((2,)).tolist()
    [0.0, 0.0]
    """
    kind = checked_dtype(dtype or float32, "zeros")
    zero = False if kind.kind == "bool" else 0
    return _filled("zeros", shape, zero, kind, device, requires_grad)


@overload
def ones(
    shape: Shape,
    *,
    dtype: DType[Float],
    device: str | Device | None = None,
    requires_grad: bool = False,
) -> Tensor[Float]: ...
@overload
def ones(
    shape: Shape,
    *,
    dtype: DType[K],
    device: str | Device | None = None,
    requires_grad: Literal[False] = False,
) -> Tensor[K]: ...
@overload
def ones(
    shape: Shape,
    *,
    dtype: None = None,
    device: str | Device | None = None,
    requires_grad: bool = False,
) -> Tensor[Float]: ...
def ones(
    shape: Shape,
    *,
    dtype: DType[Any] | None = None,
    device: str | Device | None = None,
    requires_grad: bool = False,
) -> Tensor[Any]:
    """A tensor of ones (True for Bool), float32 by default; see `full`.

    >>> import lumus as lm
    >>> lm.ones((2,)).tolist()
    [1.0, 1.0]
    """
    kind = checked_dtype(dtype or float32, "ones")
    one = True if kind.kind == "bool" else 1
    return _filled("ones", shape, one, kind, device, requires_grad)


@overload
def empty(
    shape: Shape,
    *,
    dtype: DType[Float],
    device: str | Device | None = None,
    requires_grad: bool = False,
) -> Tensor[Float]: ...
@overload
def empty(
    shape: Shape,
    *,
    dtype: DType[K],
    device: str | Device | None = None,
    requires_grad: Literal[False] = False,
) -> Tensor[K]: ...
@overload
def empty(
    shape: Shape,
    *,
    dtype: None = None,
    device: str | Device | None = None,
    requires_grad: bool = False,
) -> Tensor[Float]: ...
def empty(
    shape: Shape,
    *,
    dtype: DType[Any] | None = None,
    device: str | Device | None = None,
    requires_grad: bool = False,
) -> Tensor[Any]:
    """A tensor whose elements are whatever its memory held: to be overwritten before it is read.

    >>> import lumus as lm
    >>> lm.empty((2, 3)).shape
    (2, 3)
    """
    place = device_named(device)
    kind = checked_dtype(dtype or float32, "empty")
    spec = spec_of(normalize_shape("empty", shape), kind, place)
    made: Tensor[Any] = made_tensor(place.allocate(spec), spec)
    return leaf(made, requires_grad)


@overload
def full_like(x: Tensor[Float], value: Number, *, requires_grad: bool = False) -> Tensor[Float]: ...
@overload
def full_like(
    x: Tensor[K], value: Number, *, requires_grad: Literal[False] = False
) -> Tensor[K]: ...
def full_like(x: Tensor[Any], value: Number, *, requires_grad: bool = False) -> Tensor[Any]:
    """A tensor with `value` everywhere, of the shape, dtype and device of `x`; see `full`."""
    check_tensors("full_like", x)
    value = number("full_like", "value", value)
    return _filled("full_like", x.shape, value, x.dtype, x.device, requires_grad)


@overload
def zeros_like(x: Tensor[Float], *, requires_grad: bool = False) -> Tensor[Float]: ...
@overload
def zeros_like(x: Tensor[K], *, requires_grad: Literal[False] = False) -> Tensor[K]: ...
def zeros_like(x: Tensor[Any], *, requires_grad: bool = False) -> Tensor[Any]:
    """A tensor of zeros, of the shape, dtype and device of `x`; see `zeros`."""
    check_tensors("zeros_like", x)
    return zeros(x.shape, dtype=x.dtype, device=x.device, requires_grad=requires_grad)


@overload
def ones_like(x: Tensor[Float], *, requires_grad: bool = False) -> Tensor[Float]: ...
@overload
def ones_like(x: Tensor[K], *, requires_grad: Literal[False] = False) -> Tensor[K]: ...
def ones_like(x: Tensor[Any], *, requires_grad: bool = False) -> Tensor[Any]:
    """A tensor of ones, of the shape, dtype and device of `x`; see `ones`."""
    check_tensors("ones_like", x)
    return ones(x.shape, dtype=x.dtype, device=x.device, requires_grad=requires_grad)


@overload
def empty_like(x: Tensor[Float], *, requires_grad: bool = False) -> Tensor[Float]: ...
@overload
def empty_like(x: Tensor[K], *, requires_grad: Literal[False] = False) -> Tensor[K]: ...
def empty_like(x: Tensor[Any], *, requires_grad: bool = False) -> Tensor[Any]:
    """An uninitialised tensor of the shape, dtype and device of `x`; see `empty`."""
    check_tensors("empty_like", x)
    return empty(x.shape, dtype=x.dtype, device=x.device, requires_grad=requires_grad)
