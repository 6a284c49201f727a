"""prod: the product of elements over axes."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.argument import axes_of
from lumus.core.broadcast import Shape, inverse_order
from lumus.core.constant import constant
from lumus.core.dispatch import apply
from lumus.core.dtypes import int64
from lumus.core.kinds import Float, Int
from lumus.core.op import Needs, register
from lumus.core.record import Record, Saved, record
from lumus.core.spec import Spec
from lumus.core.tensor import Axes, Tensor
from lumus.ops.reduce.axes import ReduceAttrs, ReduceOp, count_of, spread


@record
class ProdRecord(Record):
    """d prod(x) / dx_i = grad * (the product of all other elements), zeros or not."""

    x: Saved[Float]
    axes: tuple[int, ...]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        x = self.x.tensor()
        return (spread(grad, x.shape, self.axes) * _products_of_others(x, self.axes),)


def _products_of_others(x: Tensor[Float], axes: tuple[int, ...]) -> Tensor[Float]:
    """For each element the product of those that share its slice, itself left out.

    A division by the element would fail at zeros. Instead the slices become rows of a matrix, and
    the products of all elements before and of all after each one are built by doubling: log2(n)
    passes.
    """
    order = (*(axis for axis in range(x.ndim) if axis not in axes), *axes)
    count = count_of(x.shape, axes)
    moved = x.permute_dims(order)
    rows = moved.reshape(x.size // count if count else 0, count)
    others = _running_product(rows) * _running_product(rows.flip(1)).flip(1)
    return others.reshape(moved.shape).permute_dims(inverse_order(order))


def _running_product(rows: Tensor[Float]) -> Tensor[Float]:
    """The product of all elements before each one, along axis 1 (1 for the first)."""
    count = rows.shape[1]
    total = _shifted(rows, min(1, count))
    distance = 1
    while distance < count:
        total = total * _shifted(total, distance)
        distance *= 2
    return total


def _shifted(rows: Tensor[Float], distance: int) -> Tensor[Float]:
    """The elements `distance` to the left, ones where there are none."""
    one = constant(1.0, rows.dtype, rows.device, "prod")
    ones = one.broadcast_to(rows.shape[0], distance)
    kept = rows.narrow(1, 0, rows.shape[1] - distance)
    return apply("concat", ones, kept, axis=1)


@register
class Prod(ReduceOp):
    name = "prod"
    reduction = "prod"

    def output(self, spec: Spec, shape: Shape) -> Spec:
        dtype = spec.dtype if spec.dtype.kind == "float" else int64
        return spec.with_shape(shape).with_dtype(dtype)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: ReduceAttrs, needs: Needs
    ) -> Record:
        return ProdRecord(Saved(inputs[0]), attrs.axes)


@overload
def prod(x: Tensor[Float], axis: Axes = None, *, keepdims: bool = False) -> Tensor[Float]: ...
@overload
def prod(x: Tensor[Int], axis: Axes = None, *, keepdims: bool = False) -> Tensor[Int]: ...
def prod(x: Any, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """The product of elements over `axis`; 1 of nothing.

    **Shapes.** The axes in `axis` (all by default) are removed, or kept with length 1 by
    `keepdims`.
    **Kinds.** Float keeps its dtype; Int gives int64 and wraps.
    **Gradient.** ``grad`` times the product of all other elements: right with any number of zeros.
    **Raises.** KindError for Bool (use `all`), ArgumentError for an axis out of range or named
    twice.

    >>> import lumus as lm
    >>> lm.prod(lm.tensor([[1.0, 2.0], [3.0, 4.0]]), axis=1).tolist()
    [2.0, 12.0]
    """
    return apply("prod", x, axes=axes_of("prod", x, axis), keepdims=keepdims)
