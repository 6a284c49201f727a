"""recurrence: s_i = b_i + a_i * s_(i-1) along an axis; the derivatives of scans are made of it."""

from __future__ import annotations

from typing import Any

from lumus.core.dispatch import apply
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.lines import Recurrence as RecurrenceKernel
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.ops.scan.axis import DirectedAttrs, one_before


@record
class RecurrenceRecord(Record):
    """The derivative of s: h, the transposed recurrence of grad, by b; h_i * s_(i-1) by a_i."""

    a: Saved[Float]
    s: Saved[Float]
    axis: int
    reverse: bool
    needs: Needs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        other = apply("recurrence", self.a.tensor(), grad, axis=self.axis, reverse=not self.reverse)
        by_a = None
        if self.needs[0]:
            s = self.s.tensor()
            forward, backward = (other, s) if self.reverse else (s, other)
            by_a = one_before(forward, self.axis, 0.0) * backward
        return (by_a, other if self.needs[1] else None)


@register
class Recurrence(Op):
    name = "recurrence"
    attrs = DirectedAttrs

    def infer(self, specs: Specs, attrs: DirectedAttrs) -> Spec:
        return specs[1]

    def kernel(self, specs: Specs, attrs: DirectedAttrs) -> Kernel:
        return RecurrenceKernel(attrs.axis, attrs.reverse)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: DirectedAttrs,
        needs: Needs,
    ) -> Record:
        return RecurrenceRecord(
            Saved(inputs[0]), saved_output(output), attrs.axis, attrs.reverse, needs
        )
