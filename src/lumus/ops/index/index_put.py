"""index_put: values written, or added, where tensors of indices point."""

from __future__ import annotations

from typing import Any

from lumus.core.broadcast import broadcast_shapes
from lumus.core.dispatch import apply
from lumus.core.dtypes import bool_
from lumus.core.frozen import frozen
from lumus.core.kernels.index import IndexPut as IndexPutKernel
from lumus.core.kernels.index import LastWriter
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Float, Int
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, Saved, record
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import DTypeError, ShapeError
from lumus.ops.broadcasting import sum_to, zeros
from lumus.ops.index.index import picked_shape


@frozen
class IndexPutAttrs:
    """Whether values are added to what is there, or replace it (the last wins)."""

    accumulate: bool


@record
class IndexPutRecord(Record):
    """d index_put(x, v) / dx = grad, 0 where replaced; / dv = grad at the indices.

    Of values that replace one another only the last gets its gradient.
    """

    indices: tuple[Saved[Int], ...]
    x_spec: Spec
    values_spec: Spec
    needs: Needs
    accumulate: bool

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        indices = [saved.tensor() for saved in self.indices]
        grad_x = grad_values = None
        if self.needs[0]:
            nothing = zeros(self.values_spec.with_dtype(grad.dtype))
            grad_x = (
                grad
                if self.accumulate
                else apply("index_put", grad, nothing, *indices, accumulate=False)
            )
        if self.needs[1]:
            grad_values = apply("index", grad, *indices)
            if not self.accumulate:
                grad_values = self._of_last_writers(grad_values, indices)
            grad_values = sum_to(grad_values, self.values_spec)
        return (grad_x, grad_values, *(None for _ in indices))

    def _of_last_writers(self, grad: Tensor[Float], indices: list[Tensor[Int]]) -> Tensor[Float]:
        bounds = self.x_spec.shape[: len(indices)]
        last = apply("last_writer", *indices, bounds=bounds)
        rest = grad.ndim - last.ndim
        last = last.reshape((*last.shape, *(1,) * rest))
        return apply("where", last, grad, zeros(grad.spec))


@register
class IndexPut(Op):
    """Of (x, values, indices...): a copy of x with values at the places that `index` would read."""

    name = "index_put"
    attrs = IndexPutAttrs

    def infer(self, specs: Specs, attrs: IndexPutAttrs) -> Spec:
        x, values, *indices = specs
        if values.dtype is not x.dtype:
            raise DTypeError(
                f"index_put: values are {values.dtype.name}, the tensor is {x.dtype.name}",
                op="index_put",
            )
        target = picked_shape("index_put", x, tuple(indices))
        if broadcast_shapes("index_put", values.shape, target) != target:
            raise ShapeError(
                f"index_put: values of shape {values.shape} do not broadcast to {target}",
                op="index_put",
                specs=specs,
            )
        return x

    def kernel(self, specs: Specs, attrs: IndexPutAttrs) -> Kernel:
        return IndexPutKernel(attrs.accumulate)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: IndexPutAttrs,
        needs: Needs,
    ) -> Record:
        x, values, *indices = inputs
        kept = tuple([Saved(one) for one in indices])
        return IndexPutRecord(kept, x.spec, values.spec, needs, attrs.accumulate)


@frozen
class LastWriterAttrs:
    """The lengths of the axes that are indexed."""

    bounds: tuple[int, ...]


@register
class LastWriterOp(Op):
    """Of (indices...): True where a position is the last of those that name the same place."""

    name = "last_writer"
    attrs = LastWriterAttrs
    differentiable = False
    reason = "its result is Bool"

    def infer(self, specs: Specs, attrs: LastWriterAttrs) -> Spec:
        shape = broadcast_shapes("last_writer", *(spec.shape for spec in specs))
        return specs[0].with_shape(shape).with_dtype(bool_)

    def kernel(self, specs: Specs, attrs: LastWriterAttrs) -> Kernel:
        return LastWriter(attrs.bounds)
