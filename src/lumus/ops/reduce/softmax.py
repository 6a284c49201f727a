"""softmax: the exponentials along an axis, scaled to sum to 1."""

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
class SoftmaxAttrs:
    """The axis, counted from the front."""

    axis: int


@record
class SoftmaxRecord(Record):
    """d softmax(x) / dx = y * (grad - sum(grad * y)), summed along the axis."""

    y: Saved[Float]
    axis: int

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (apply("softmax_grad", grad, self.y.tensor(), axis=self.axis),)


@register
class Softmax(Op):
    name = "softmax"
    attrs = SoftmaxAttrs

    def infer(self, specs: Specs, attrs: SoftmaxAttrs) -> Spec:
        if specs[0].dtype.kind != "float":
            raise kind_error("softmax", specs[0].dtype, ("float",))
        return specs[0]

    def kernel(self, specs: Specs, attrs: SoftmaxAttrs) -> Kernel:
        return SoftmaxKernel(attrs.axis, log=False)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: SoftmaxAttrs,
        needs: Needs,
    ) -> Record:
        return SoftmaxRecord(saved_output(output), attrs.axis)


@record
class SoftmaxGradRecord(Record):
    """The derivative of y * (grad - sum(grad * y)) by grad and by y."""

    grad: Saved[Float]
    y: Saved[Float]
    axis: int
    needs: Needs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        g, y = self.grad.tensor(), self.y.tensor()
        inner = (grad * y).sum(axis=(self.axis,), keepdims=True)
        by_grad = y * (grad - inner)
        total = (g * y).sum(axis=(self.axis,), keepdims=True)
        by_y = grad * (g - total) - g * inner
        return (by_grad if self.needs[0] else None, by_y if self.needs[1] else None)


@register
class SoftmaxGrad(Op):
    name = "softmax_grad"
    attrs = SoftmaxAttrs

    def infer(self, specs: Specs, attrs: SoftmaxAttrs) -> Spec:
        return specs[1]

    def kernel(self, specs: Specs, attrs: SoftmaxAttrs) -> Kernel:
        return SoftmaxGradKernel(attrs.axis, log=False)

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: SoftmaxAttrs,
        needs: Needs,
    ) -> Record:
        return SoftmaxGradRecord(Saved(inputs[0]), Saved(inputs[1]), attrs.axis, needs)


def softmax(x: Tensor[Float], axis: int = -1) -> Tensor[Float]:
    """``e**x / sum(e**x)`` along `axis`, computed with the largest element taken out.

    A row that is all -inf, or holds NaN or +inf, has no such ratio: it is NaN.

    **Shapes.** Any with at least one axis; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``y * (grad - sum(grad * y))`` with y the result, summed along the axis.
    **Raises.** KindError for Int and Bool, ArgumentError for an axis out of range.

    >>> import lumus as lm
    >>> lm.softmax(lm.tensor([1000.0, 1000.0])).tolist()
    [0.5, 0.5]
    """
    axis = axis_of("softmax", x, axis)
    return apply("softmax", x, axis=axis)
