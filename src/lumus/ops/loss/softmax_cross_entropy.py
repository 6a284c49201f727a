"""The op cross_entropy: rows of logits and target classes, in one pass over the logits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lumus.core.composite import call
from lumus.core.dispatch import apply
from lumus.core.dtypes import float32, float64, is_half
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.loss import CrossEntropy as CrossEntropyKernel
from lumus.core.kernels.loss import CrossEntropyGrad as CrossEntropyGradKernel
from lumus.core.kinds import Float, Int
from lumus.core.mode import MODE
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.spec import Spec, spec_of
from lumus.core.tensor import Tensor
from lumus.errors import IndexRangeError
from lumus.ops.elementwise.where import where
from lumus.ops.loss.class_targets import class_axis, kept_targets, no_class
from lumus.ops.loss.nll_loss import weighted_nll
from lumus.ops.loss.reduction import Reduction


@frozen
class CrossEntropyAttrs:
    """The class that does not count, the share that all classes have, the reduction."""

    ignore_index: int | None
    label_smoothing: float
    reduction: Reduction


@record
class CrossEntropyRecord(Record):
    """d cross_entropy(x, t) / dx = grad * (softmax(x) - target) for each row, over the divisor."""

    logits: Saved[Float]
    targets: Saved[Int]
    stats: Saved[Float]
    divisor: Saved[Float]
    attrs: CrossEntropyAttrs

    def vjp(self, *grads: Tensor[Float] | None) -> tuple[Tensor[Float] | None, ...]:
        grad, *_ = grads
        assert grad is not None
        logits, targets, attrs = self.logits.tensor(), self.targets.tensor(), self.attrs
        if MODE.get().records:
            # The backward kernel has no derivative: what is differentiated again is plain ops.
            def plain(x: Tensor[Float], t: Tensor[Int]) -> Sequence[Tensor[Float]]:
                return (composed(x, t, None, attrs),)

            found: list[Tensor[Float] | None] = call("replay", plain, (logits, targets), (grad,))
            return tuple(found)
        grad_logits = apply(
            "cross_entropy_grad",
            grad,
            logits,
            targets,
            self.stats.tensor(),
            self.divisor.tensor(),
            ignore_index=attrs.ignore_index,
            label_smoothing=attrs.label_smoothing,
            reduction=attrs.reduction,
        )
        return (grad_logits, None)


@register
class CrossEntropy(Op):
    """Of (logits (rows, classes), targets (rows,)): (loss, stats of rows, divisor of a mean)."""

    name = "cross_entropy"
    attrs = CrossEntropyAttrs

    def infer(self, specs: Specs, attrs: CrossEntropyAttrs) -> Specs:
        logits, targets = specs
        wide = float32 if is_half(logits.dtype) else logits.dtype
        return (
            logits.with_shape(targets.shape if attrs.reduction == "none" else ()),
            spec_of((logits.shape[0], 2), wide, logits.device),
            spec_of((), float64, logits.device),
        )

    def index_error(self, error: IndexRangeError) -> IndexRangeError:
        return no_class(self.name, error.index, error.position, error.bound)

    def kernel(self, specs: Specs, attrs: CrossEntropyAttrs) -> Kernel:
        return CrossEntropyKernel(attrs.ignore_index, attrs.label_smoothing, attrs.reduction)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Any, attrs: CrossEntropyAttrs, needs: Needs
    ) -> Record:
        logits, targets = inputs
        return CrossEntropyRecord(
            Saved(logits),
            Saved(targets),
            saved_output(output[1], 1),
            saved_output(output[2], 2),
            attrs,
        )


@register
class CrossEntropyGrad(Op):
    """Of (grad, logits, targets, stats, divisor): the gradient of the logits."""

    name = "cross_entropy_grad"
    attrs = CrossEntropyAttrs
    differentiable = False
    reason = "while gradients are recorded, that of cross_entropy is computed from plain ops"

    def infer(self, specs: Specs, attrs: CrossEntropyAttrs) -> Spec:
        return specs[1]

    def kernel(self, specs: Specs, attrs: CrossEntropyAttrs) -> Kernel:
        return CrossEntropyGradKernel(attrs.ignore_index, attrs.label_smoothing, attrs.reduction)


def composed(
    logits: Tensor[Float],
    targets: Tensor[Int],
    weight: Tensor[Float] | None,
    attrs: CrossEntropyAttrs,
) -> Tensor[Float]:
    """The loss in plain ops: with weights, more axes, or a second derivative."""
    kept = kept_targets(targets, attrs.ignore_index)
    if kept is not None:
        # A row that does not count may hold anything: infinities there would make 0 * NaN of its
        # gradient.
        logits = where(kept.expand_dims(class_axis(logits)), logits, 0.0)
    return weighted_nll(
        "cross_entropy",
        logits.log_softmax(axis=class_axis(logits)),
        targets,
        weight,
        attrs.ignore_index,
        attrs.reduction,
        smoothing=attrs.label_smoothing,
    )
