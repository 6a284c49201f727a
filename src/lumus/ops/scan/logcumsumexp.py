"""logcumsumexp: the running logarithm of the sum of exponentials along an axis."""

from __future__ import annotations

from typing import Any

from lumus.core.dispatch import apply
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.lines import Scan
from lumus.core.kinds import Float
from lumus.core.op import Needs, Op, Specs, kind_error, register
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.ops.elementwise.map import fused
from lumus.ops.scan.axis import ScanAttrs, one_before, scan_axis

# Equal infinities have no difference; a sum that is infinite stays as it is.
_DECAY = expression(
    lambda before, y: scalar.where(
        scalar.equal(before, y) & scalar.isinf(y), 1.0, scalar.exp(before - y)
    )
)
# Where y is -inf all x up to there are, and the gradient is 0 instead of exp(nan).
_GRAD = expression(
    lambda after, x, y: scalar.where(scalar.equal(y, -float("inf")), 0.0, after * scalar.exp(x - y))
)


@record
class LogcumsumexpRecord(Record):
    """d y / dx_i = e**(x_i - y_i) * s_i, where s_i = grad_i + e**(y_i - y_(i+1)) * s_(i+1)."""

    x: Saved[Float]
    y: Saved[Float]
    axis: int

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        y = self.y.tensor()
        # No exponent is positive: the sums so far never fall.
        decay = fused(_DECAY, one_before(y, self.axis, -float("inf")), y)
        after = apply("recurrence", decay, grad, axis=self.axis, reverse=True)
        return (fused(_GRAD, after, self.x.tensor(), y),)


@register
class Logcumsumexp(Op):
    name = "logcumsumexp"
    attrs = ScanAttrs

    def infer(self, specs: Specs, attrs: ScanAttrs) -> Spec:
        if specs[0].dtype.kind != "float":
            raise kind_error("logcumsumexp", specs[0].dtype, ("float",))
        return specs[0]

    def kernel(self, specs: Specs, attrs: ScanAttrs) -> Kernel:
        return Scan("logsumexp", attrs.axis, reverse=False)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: ScanAttrs, needs: Needs
    ) -> Record:
        return LogcumsumexpRecord(Saved(inputs[0]), saved_output(output), attrs.axis)


def logcumsumexp(x: Tensor[Float], axis: int | None = None) -> Tensor[Float]:
    """``log(e**x[0] + ... + e**x[i])`` for each element along `axis`, without overflow.

    -inf as long as all elements are. `axis` may be left out for a tensor of one axis.

    **Shapes.** Any with at least one axis; the result has the shape of `x`.
    **Kinds.** Float; computed in float64 and rounded once.
    **Gradient.** ``sum over i >= j of grad_i * e**(x_j - y_i)``; 0 where the result is -inf.
    **Raises.** KindError for Int and Bool, ArgumentError for an axis out of range, or none named
    where there are several.

    >>> import lumus as lm
    >>> lm.logcumsumexp(lm.tensor([1000.0, 1000.0])).tolist()
    [1000.0, 1000.6931762695312]
    """
    return apply("logcumsumexp", x, axis=scan_axis("logcumsumexp", x, axis))
