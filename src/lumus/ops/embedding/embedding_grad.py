"""embedding_grad: rows summed by their numbers into a table."""

from __future__ import annotations

from typing import Any

from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.embedding import EmbeddingGrad as EmbeddingGradKernel
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Float, Int
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, Saved, record
from lumus.core.spec import Spec, spec_of
from lumus.core.tensor import Tensor
from lumus.ops.create.full import ones
from lumus.ops.elementwise.where import where


@frozen
class EmbeddingGradAttrs:
    """The rows of the table; which of them stays 0 (-1: none); whether sums become averages."""

    num_rows: int
    skipped: int
    averages: bool


@record
class EmbeddingGradRecord(Record):
    """d embedding_grad = the rows of grad with those numbers; 0 for the skipped one; divided."""

    ids: Saved[Int]
    attrs: EmbeddingGradAttrs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        ids, attrs = self.ids.tensor(), self.attrs
        rows = apply("embedding", ids, grad, skipped=-1, averages=False)
        if attrs.averages:
            each = ones((*ids.shape, 1), dtype=grad.dtype, device=grad.device)
            counts = apply(
                "embedding_grad", each, ids, num_rows=attrs.num_rows, skipped=-1, averages=False
            )
            rows = rows / apply("embedding", ids, counts, skipped=-1, averages=False)
        if attrs.skipped >= 0:
            rows = where((ids != attrs.skipped).expand_dims(-1), rows, 0.0)
        return (rows, None)


@register
class EmbeddingGrad(Op):
    """Of (grad, ids)."""

    name = "embedding_grad"
    attrs = EmbeddingGradAttrs

    def infer(self, specs: Specs, attrs: EmbeddingGradAttrs) -> Spec:
        grad = specs[0]
        return spec_of((attrs.num_rows, grad.shape[-1]), grad.dtype, grad.device)

    def kernel(self, specs: Specs, attrs: EmbeddingGradAttrs) -> Kernel:
        return EmbeddingGradKernel(attrs.num_rows, attrs.skipped, attrs.averages)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: EmbeddingGradAttrs,
        needs: Needs,
    ) -> Record:
        return EmbeddingGradRecord(Saved(inputs[1]), attrs)
