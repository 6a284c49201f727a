"""slice_put: a tensor with one slice of it replaced."""

from __future__ import annotations

from typing import Any

from lumus.core.broadcast import Shape
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.shape import SlicePut as SlicePutKernel
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, record
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import ShapeError
from lumus.ops.broadcasting import zeros


@frozen
class SlicePutAttrs:
    """Along each axis: the first index, how many, and the step."""

    starts: tuple[int, ...]
    sizes: Shape
    steps: tuple[int, ...]


@record
class SlicePutRecord(Record):
    """d slice_put(x, v) = (grad, 0 in the slice; grad in the slice)."""

    by_signature = True

    starts: tuple[int, ...]
    sizes: Shape
    steps: tuple[int, ...]
    needs: Needs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        place = {"starts": self.starts, "sizes": self.sizes, "steps": self.steps}
        nothing = zeros(grad.spec.with_shape(self.sizes))
        return (
            apply("slice_put", grad, nothing, **place) if self.needs[0] else None,
            apply("slice", grad, **place) if self.needs[1] else None,
        )


@register
class SlicePut(Op):
    """Of (x, values): a copy of x with values, of the slice's shape, in the slice."""

    name = "slice_put"
    attrs = SlicePutAttrs

    def infer(self, specs: Specs, attrs: SlicePutAttrs) -> Spec:
        x, values = specs
        if values is not x.with_shape(attrs.sizes):
            raise ShapeError(
                f"slice_put: values are {values!r}, the slice is {x.with_shape(attrs.sizes)!r}",
                op="slice_put",
                specs=specs,
            )
        return x

    def kernel(self, specs: Specs, attrs: SlicePutAttrs) -> Kernel:
        return SlicePutKernel(attrs.starts, attrs.sizes, attrs.steps)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: SlicePutAttrs,
        needs: Needs,
    ) -> Record:
        return SlicePutRecord(attrs.starts, attrs.sizes, attrs.steps, needs)
