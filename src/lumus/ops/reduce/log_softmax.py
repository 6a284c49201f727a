"""log_softmax: the logarithm of the exponentials along an axis, scaled to sum to 1."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import axis_of
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.reduction import Softmax as SoftmaxKernel
from lumus.core.kernels.reduction import SoftmaxGrad as SoftmaxGradKernel
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, kind_error, register
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor


@frozen
class LogSoftmaxAttrs:
    """The axis, counted from the front."""

    axis: int


@record
class LogSoftmaxRecord(Record):
    """d log_softmax(x) / dx = grad - e**y * sum(grad), summed along the axis."""

    y: Saved[Float]
    axis: int

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (apply("log_softmax_grad", grad, self.y.tensor(), axis=self.axis),)


@register
class LogSoftmax(Op):
    name = "log_softmax"
    attrs = LogSoftmaxAttrs

    def infer(self, specs: Specs, attrs: LogSoftmaxAttrs) -> Spec:
        if specs[0].dtype.kind != "float":
            raise kind_error("log_softmax", specs[0].dtype, ("float",))
        return specs[0]

    def kernel(self, specs: Specs, attrs: LogSoftmaxAttrs) -> Kernel:
        return SoftmaxKernel(attrs.axis, log=True)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: LogSoftmaxAttrs,
        needs: Needs,
    ) -> Record:
        return LogSoftmaxRecord(saved_output(output), attrs.axis)


@record
class LogSoftmaxGradRecord(Record):
    """The derivative of grad - e**y * sum(grad) by grad and by y."""

    grad: Saved[Float]
    y: Saved[Float]
    axis: int
    needs: Needs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        y = self.y.tensor()
        # y(grad, y) = grad - e**y * sum(grad): linear in grad, and in y through e**y.
        total = self.grad.tensor().sum(axis=(self.axis,), keepdims=True)
        by_y = grad * y.exp() * total
        inner = (grad * y.exp()).sum(axis=(self.axis,), keepdims=True)
        return (grad - inner if self.needs[0] else None, -by_y if self.needs[1] else None)


@register
class LogSoftmaxGrad(Op):
    name = "log_softmax_grad"
    attrs = LogSoftmaxAttrs

    def infer(self, specs: Specs, attrs: LogSoftmaxAttrs) -> Spec:
        return specs[1]

    def kernel(self, specs: Specs, attrs: LogSoftmaxAttrs) -> Kernel:
        return SoftmaxGradKernel(attrs.axis, log=True)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: LogSoftmaxAttrs,
        needs: Needs,
    ) -> Record:
        return LogSoftmaxGradRecord(Saved(inputs[0]), Saved(inputs[1]), attrs.axis, needs)


def log_softmax(x: Tensor[Float], axis: int = -1) -> Tensor[Float]:
    """``x - log(sum(e**x))`` along `axis`, computed with the largest element taken out.

    A row that is all -inf, or holds NaN or +inf, has no such logarithm: NaN.

    **Shapes.** Any with at least one axis; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``grad - e**y * sum(grad)`` with y the result, summed along the axis.
    **Raises.** KindError for Int and Bool, ArgumentError for an axis out of range.

    >>> import lumus as lm
    >>> lm.log_softmax(lm.tensor([1000.0, 1000.0])).tolist()
    [-0.6931471824645996, -0.6931471824645996]
    """
    axis = axis_of("log_softmax", x, axis)
    return apply("log_softmax", x, axis=axis)
