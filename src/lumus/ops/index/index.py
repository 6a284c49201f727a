"""index: elements of the first axes picked by tensors of indices."""

from __future__ import annotations

from typing import Any

from lumus.core.broadcast import Shape, broadcast_shapes
from lumus.core.dispatch import apply
from lumus.core.kernels.index import Index as IndexKernel
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Float, Int
from lumus.core.op import Needs, Op, Specs, kind_error, register
from lumus.core.record import Record, Saved, record
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.ops.broadcasting import zeros


def picked_shape(op: str, x: Spec, indices: Specs) -> Shape:
    """The shape of what the index tensors pick from the first axes of `x`."""
    for spec in indices:
        if spec.dtype.kind != "int":
            raise kind_error(op, spec.dtype, ("int",), what="indices")
    picked = broadcast_shapes(op, *(spec.shape for spec in indices))
    return (*picked, *x.shape[len(indices) :])


@record
class IndexRecord(Record):
    """d x[i, j, ...] / dx = grad added at those places, 0 elsewhere; duplicates accumulate."""

    spec: Spec
    indices: tuple[Saved[Int], ...]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        indices = [saved.tensor() for saved in self.indices]
        grad_x = apply("index_put", zeros(self.spec), grad, *indices, accumulate=True)
        return (grad_x, *(None for _ in indices))


@register
class Index(Op):
    """Of (x, indices...): the first len(indices) axes of x indexed together."""

    name = "index"

    def infer(self, specs: Specs, attrs: None) -> Spec:
        return specs[0].with_shape(picked_shape("index", specs[0], specs[1:]))

    def kernel(self, specs: Specs, attrs: None) -> Kernel:
        return IndexKernel()

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return IndexRecord(inputs[0].spec, tuple([Saved(one) for one in inputs[1:]]))
