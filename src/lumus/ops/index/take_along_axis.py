"""take_along_axis: for each position the element at an index of its own along one axis."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import axis_of
from lumus.core.broadcast import Shape
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.index import TakeAlongAxis as TakeAlongAxisKernel
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Float, Int, K
from lumus.core.op import Needs, Op, Specs, kind_error, register
from lumus.core.record import Record, Saved, record
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError
from lumus.ops.broadcasting import zeros


@frozen
class TakeAlongAxisAttrs:
    """The axis, counted from the front."""

    axis: int


def check_along_axis(op: str, x: Shape, indices: Spec, axis: int) -> None:
    """Raises unless the indices are Int and fit `x` on all axes but `axis`."""
    if indices.dtype.kind != "int":
        raise kind_error(op, indices.dtype, ("int",), what="indices")
    fits = len(x) == indices.ndim and all(
        one == other
        for place, (one, other) in enumerate(zip(x, indices.shape, strict=True))
        if place != axis
    )
    if not fits:
        raise ShapeError(
            f"{op}: indices of shape {indices.shape} must have the shape {x} of the tensor but for "
            f"axis {axis}",
            op=op,
            shapes=(x, indices.shape),
            axis=axis,
        )


@record
class TakeAlongAxisRecord(Record):
    """d take_along_axis(x, i) / dx = grad added at the places read, 0 elsewhere."""

    spec: Spec
    indices: Saved[Int]
    axis: int

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        indices = self.indices.tensor()
        return (apply("scatter_add", zeros(self.spec), indices, grad, axis=self.axis), None)


@register
class TakeAlongAxis(Op):
    name = "take_along_axis"
    attrs = TakeAlongAxisAttrs

    def infer(self, specs: Specs, attrs: TakeAlongAxisAttrs) -> Spec:
        x, indices = specs
        check_along_axis("take_along_axis", x.shape, indices, attrs.axis)
        return x.with_shape(indices.shape)

    def kernel(self, specs: Specs, attrs: TakeAlongAxisAttrs) -> Kernel:
        return TakeAlongAxisKernel(attrs.axis)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: TakeAlongAxisAttrs,
        needs: Needs,
    ) -> Record:
        return TakeAlongAxisRecord(inputs[0].spec, Saved(inputs[1]), attrs.axis)


def take_along_axis(x: Tensor[K], indices: Tensor[Int], axis: int = -1) -> Tensor[K]:
    """For each position of `indices` the element of `x` at that index along `axis`.

    ``y[i, j] = x[i, indices[i, j]]`` for two axes and ``axis=1``.

    **Shapes.** `indices` has the shape of `x` but for `axis`; the result has that of `indices`.
    **Kinds.** Any; `indices` are Int, negative ones count from the end.
    **Gradient.** `grad` added at the places read: duplicates accumulate.
    **Raises.** IndexRangeError for an index outside the axis, ShapeError for shapes that do not
    fit, KindError for indices that are not Int.

    >>> import lumus as lm
    >>> x = lm.tensor([[1, 2], [3, 4]])
    >>> lm.take_along_axis(x, lm.tensor([[1], [0]]), axis=1).tolist()
    [[2], [3]]
    """
    axis = axis_of("take_along_axis", x, axis)
    return apply("take_along_axis", x, indices, axis=axis)
