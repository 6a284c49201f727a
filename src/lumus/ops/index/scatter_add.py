"""scatter_add: values added at an index of their own along one axis."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import axis_of
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.index import ScatterAdd as ScatterAddKernel
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Float, Int, K
from lumus.core.op import Needs, Op, Specs, kind_error, register
from lumus.core.record import Record, Saved, record
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import DTypeError, ShapeError
from lumus.ops.index.take_along_axis import check_along_axis


@frozen
class ScatterAddAttrs:
    """The axis, counted from the front."""

    axis: int


@record
class ScatterAddRecord(Record):
    """d scatter_add(x, i, v) = (grad, none, grad at the indices)."""

    indices: Saved[Int]
    axis: int
    needs: Needs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        taken = None
        if self.needs[2]:
            taken = apply("take_along_axis", grad, self.indices.tensor(), axis=self.axis)
        return (grad if self.needs[0] else None, None, taken)


@register
class ScatterAdd(Op):
    name = "scatter_add"
    attrs = ScatterAddAttrs

    def infer(self, specs: Specs, attrs: ScatterAddAttrs) -> Spec:
        x, indices, values = specs
        if x.dtype.kind == "bool":
            raise kind_error("scatter_add", x.dtype, ("float", "int"))
        check_along_axis("scatter_add", x.shape, indices, attrs.axis)
        if values.shape != indices.shape:
            raise ShapeError(
                f"scatter_add: values of shape {values.shape}, indices of shape {indices.shape}",
                op="scatter_add",
                specs=specs,
            )
        if values.dtype is not x.dtype:
            raise DTypeError(
                f"scatter_add: values are {values.dtype.name}, the tensor is {x.dtype.name}",
                hint=f"convert them with .astype(lumus.{x.dtype.name})",
                op="scatter_add",
            )
        return x

    def kernel(self, specs: Specs, attrs: ScatterAddAttrs) -> Kernel:
        return ScatterAddKernel(attrs.axis)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: ScatterAddAttrs,
        needs: Needs,
    ) -> Record:
        return ScatterAddRecord(Saved(inputs[1]), attrs.axis, needs)


def scatter_add(x: Tensor[K], indices: Tensor[Int], values: Tensor[K], axis: int = 0) -> Tensor[K]:
    """A copy of `x` with each value added at its index along `axis`; duplicates accumulate.

    ``y[indices[i, j], j] += values[i, j]`` for two axes and ``axis=0``. The order of addition is
    fixed, so the bits are the same for any number of threads.

    **Shapes.** `indices` and `values` have the shape of `x` but for `axis`.
    **Kinds.** Float or Int, `values` of the dtype of `x`; `indices` are Int, negative ones count
    from the end. Half types add up in float32 and round once.
    **Gradient.** `grad` for x; for values `grad` at their places.
    **Raises.** IndexRangeError for an index outside the axis, ShapeError for shapes that do not
    fit, KindError for Bool or indices that are not Int, DTypeError for values of another dtype.

    >>> import lumus as lm
    >>> lm.scatter_add(lm.zeros((3,)), lm.tensor([0, 2, 0]), lm.tensor([1.0, 2.0, 4.0])).tolist()
    [5.0, 0.0, 2.0]
    """
    axis = axis_of("scatter_add", x, axis)
    return apply("scatter_add", x, indices, values, axis=axis)
