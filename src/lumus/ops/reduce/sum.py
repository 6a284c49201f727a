"""sum: the sum of elements over axes."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.argument import axes_of
from lumus.core.broadcast import Shape
from lumus.core.dispatch import apply
from lumus.core.dtypes import int64
from lumus.core.kinds import Bool, Float, Int
from lumus.core.op import Needs, register
from lumus.core.record import Record, record
from lumus.core.spec import Spec
from lumus.core.tensor import Axes, Tensor
from lumus.ops.reduce.axes import ReduceAttrs, ReduceOp, spread


@record
class SumRecord(Record):
    """d sum(x) / dx = grad, repeated over the axes that were summed."""

    by_signature = True

    shape: Shape
    axes: tuple[int, ...]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (spread(grad, self.shape, self.axes),)


@register
class Sum(ReduceOp):
    name = "sum"
    reduction = "sum"
    kinds = ("float", "int", "bool")

    def output(self, spec: Spec, shape: Shape) -> Spec:
        dtype = spec.dtype if spec.dtype.kind == "float" else int64
        return spec.with_shape(shape).with_dtype(dtype)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: ReduceAttrs, needs: Needs
    ) -> Record:
        return SumRecord(inputs[0].shape, attrs.axes)


@overload
def sum(x: Tensor[Float], axis: Axes = None, *, keepdims: bool = False) -> Tensor[Float]: ...
@overload
def sum(x: Tensor[Int], axis: Axes = None, *, keepdims: bool = False) -> Tensor[Int]: ...
@overload
def sum(x: Tensor[Bool], axis: Axes = None, *, keepdims: bool = False) -> Tensor[Int]: ...
def sum(x: Any, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """The sum of elements over `axis`; 0 of nothing.

    **Shapes.** The axes in `axis` (all by default) are removed, or kept with length 1 by
    `keepdims`.
    **Kinds.** Float keeps its dtype (half types add up in float32 and round once); Int and Bool
    give int64, so a count of True values is exact.
    **Gradient.** `grad`, repeated over the axes.
    **Raises.** ArgumentError for an axis out of range or named twice.

    >>> import lumus as lm
    >>> lm.sum(lm.tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
    [4.0, 6.0]
    """
    return apply("sum", x, axes=axes_of("sum", x, axis), keepdims=keepdims)
