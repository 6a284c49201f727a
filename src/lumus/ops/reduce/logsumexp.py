"""logsumexp: the logarithm of the sum of exponentials over axes."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import axes_of
from lumus.core.dispatch import apply
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.reduction import LogSumExp
from lumus.core.kinds import Float
from lumus.core.op import Needs, Specs, register
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Axes, Tensor
from lumus.ops.elementwise.map import fused
from lumus.ops.reduce.axes import ReduceAttrs, ReduceOp, spread

# exp(x - y) is the softmax; where y is -inf all x are, and the gradient is 0 instead of exp(nan).
_GRAD = expression(
    lambda grad, x, y: scalar.where(scalar.equal(y, -float("inf")), 0.0, grad * scalar.exp(x - y))
)


@record
class LogsumexpRecord(Record):
    """d log(sum(e**x)) / dx = grad * e**(x - y); 0 where the result y is -inf."""

    x: Saved[Float]
    y: Saved[Float]
    axes: tuple[int, ...]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        x = self.x.tensor()
        y = spread(self.y.tensor(), x.shape, self.axes)
        return (fused(_GRAD, spread(grad, x.shape, self.axes), x, y),)


@register
class Logsumexp(ReduceOp):
    name = "logsumexp"
    kinds = ("float",)

    def kernel(self, specs: Specs, attrs: ReduceAttrs) -> Kernel:
        return LogSumExp(attrs.axes, attrs.keepdims)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: ReduceAttrs, needs: Needs
    ) -> Record:
        return LogsumexpRecord(Saved(inputs[0]), saved_output(output), attrs.axes)


def logsumexp(x: Tensor[Float], axis: Axes = None, *, keepdims: bool = False) -> Tensor[Float]:
    """``log(sum(e**x))`` over `axis`, computed with the largest element taken out.

    -inf of nothing and of elements that are all -inf.

    **Shapes.** The axes in `axis` (all by default) are removed, or kept with length 1 by
    `keepdims`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``grad * softmax(x)``; 0 where the result is -inf.
    **Raises.** KindError for Int and Bool, ArgumentError for an axis out of range or named twice.

    >>> import lumus as lm
    >>> lm.logsumexp(lm.tensor([1000.0, 1000.0])).tolist()
    1000.6931762695312
    """
    axes = axes_of("logsumexp", x, axis)
    return apply("logsumexp", x, axes=axes, keepdims=keepdims)
