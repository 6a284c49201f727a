"""The op ctc: minus the log-probability that the frames of each row spell its labels."""

from __future__ import annotations

import math
from typing import Any

from lumus.core.composite import call
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.loss import Ctc as CtcKernel
from lumus.core.kernels.loss import CtcGrad as CtcGradKernel
from lumus.core.kinds import Bool, Float, Int
from lumus.core.mode import MODE
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, Saved, record
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.ops.create.arange import arange
from lumus.ops.create.full import full
from lumus.ops.elementwise.logaddexp import logaddexp
from lumus.ops.elementwise.where import where
from lumus.ops.shape.concat import concat


@frozen
class CtcAttrs:
    """Whether the infinite loss of a target without a path is meant, to be replaced by 0."""

    zero_infinity: bool


@record
class CtcRecord(Record):
    """d ctc / d log_probability = -grad * the share of the paths that go through it."""

    inputs: tuple[Saved[Any], ...]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        tensors = [one.tensor() for one in self.inputs]
        if MODE.get().records:
            # The backward kernel has no derivative: what is differentiated again is plain ops.
            plain: list[Tensor[Float] | None] = call("replay", _plain, tensors, (grad,))
            return tuple(plain)
        return (apply("ctc_grad", grad, *tensors), None, None, None)


@register
class Ctc(Op):
    """Of (log_probabilities, labels with blanks, counts of frames, counts of targets)."""

    name = "ctc"
    attrs = CtcAttrs

    def infer(self, specs: Specs, attrs: CtcAttrs) -> Spec:
        logarithms = specs[0]
        return logarithms.with_shape(logarithms.shape[1:2])

    def may_be_infinite(self, attrs: CtcAttrs) -> tuple[int, ...]:
        return (0,) if attrs.zero_infinity else ()

    def kernel(self, specs: Specs, attrs: CtcAttrs) -> Kernel:
        return CtcKernel()

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: CtcAttrs, needs: Needs
    ) -> Record:
        return CtcRecord(tuple([Saved(one) for one in inputs]))


@register
class CtcGrad(Op):
    """Of (grad, and the inputs of ctc): the gradient of the log-probabilities."""

    name = "ctc_grad"
    differentiable = False
    reason = "while gradients are recorded, that of ctc is computed from plain ops"

    def infer(self, specs: Specs, attrs: None) -> Spec:
        return specs[1]

    def kernel(self, specs: Specs, attrs: None) -> Kernel:
        return CtcGradKernel()


def ctc(
    logarithms: Tensor[Float],
    labels: Tensor[Int],
    num_counted: Tensor[Int],
    num_targets: Tensor[Int],
    *,
    zero_infinity: bool,
) -> Tensor[Float]:
    """The losses of all rows, of checked arguments; the caller sees to `zero_infinity`."""
    tensors = (logarithms, labels, num_counted, num_targets)
    return apply("ctc", *tensors, zero_infinity=zero_infinity)


def _plain(
    logarithms: Tensor[Float],
    labels: Tensor[Int],
    num_counted: Tensor[Int],
    num_targets: Tensor[Int],
) -> tuple[Tensor[Float]]:
    """The same in plain ops, frame by frame: differentiable to any order."""
    batch, width = labels.shape
    places = arange(width, device=labels.device)
    twice_before = _shifted(labels, 2, -1)
    may_skip = (places % 2 == 1) & (labels != twice_before) & (places >= 3)
    start = full((1, width), -math.inf, dtype=logarithms.dtype, device=logarithms.device)
    sums = where(places == 0, 0.0, start).broadcast_to((batch, width))
    for frame in range(logarithms.shape[0]):
        emitted = logarithms[frame].take_along_axis(labels, axis=1)
        reached = logaddexp(sums, _shifted(sums, 1, -math.inf))
        skipped = where(may_skip, _shifted(sums, 2, -math.inf), -math.inf)
        counts: Tensor[Bool] = (num_counted > frame).expand_dims(1)
        sums = where(counts, logaddexp(reached, skipped) + emitted, sums)
    last = (num_targets * 2).expand_dims(1)
    at_blank = sums.take_along_axis(last, axis=1)
    before = sums.take_along_axis((last - 1).maximum(0), axis=1)
    at_target = where(last > 0, before, -math.inf)
    return (-logaddexp(at_blank, at_target).squeeze(1),)


def _shifted(x: Tensor[Any], count: int, filler: float | int) -> Tensor[Any]:
    """The elements of each row `count` places further right."""
    rows, width = x.shape
    count = min(count, width)
    margin = full((rows, count), filler, dtype=x.dtype, device=x.device)
    return concat([margin, x.narrow(1, 0, width - count)], axis=1)
