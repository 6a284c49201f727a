"""gelu: x weighted by the normal distribution's probability of being below it."""

from __future__ import annotations

from math import inf
from typing import Any, Literal

from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.elementwise import Elementwise
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Float
from lumus.core.op import ElementwiseOp, Needs, Specs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import Expression, expression
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError
from lumus.ops.elementwise.map import fused

_SQRT_HALF = 0.7071067811865476
_INV_SQRT_2PI = 0.3989422804014327
_SQRT_8_OVER_PI = 1.5957691216057308
_CUBIC = 0.044715 * _SQRT_8_OVER_PI

# 1 + erf(z) cancels for z < 0, erfc(-z) does not; likewise 1 + tanh(u) and 2 * sigmoid(2 * u).
# At -inf, and for the gradient wherever x**2 overflows, the products 0 * inf would be NaN: the
# limits are 0 below and x (gradient 1) above.
_ERF = expression(
    lambda x: scalar.where(scalar.equal(x, -inf), 0.0, 0.5 * x * scalar.erfc(-_SQRT_HALF * x))
)
_ERF_GRAD = expression(
    lambda grad, x: (
        grad
        * (
            0.5 * scalar.erfc(-_SQRT_HALF * x)
            + scalar.where(
                scalar.absolute(x) < 1e3, x * (_INV_SQRT_2PI * scalar.exp(-0.5 * (x * x))), 0.0
            )
        )
    )
)


def _probability(x: Any) -> Any:
    # Far above it is 1 whether x**3 overflows or not.
    return scalar.sigmoid(x * (_SQRT_8_OVER_PI + _CUBIC * (x * x)))


_TANH = expression(lambda x: scalar.where(x < -1e3, 0.0, x * _probability(x)))


def _tanh_slope(x: Any) -> Any:
    s = _probability(x)
    inner = _SQRT_8_OVER_PI + (3 * _CUBIC) * (x * x)
    inside = s * (1 + x * (1 - s) * inner)
    return scalar.where(x < -1e3, 0.0, scalar.where(x > 1e3, 1.0, inside))


_TANH_GRAD = expression(lambda grad, x: grad * _tanh_slope(x))


@frozen
class GeluAttrs:
    """Which form."""

    approximate: str


@record
class GeluRecord(Record):
    """d x * P(x) / dx = grad * (P(x) + x * p(x)), with p the density of P."""

    x: Saved[Float]
    approximate: str

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        rule = _ERF_GRAD if self.approximate == "none" else _TANH_GRAD
        return (fused(rule, grad, self.x.tensor()),)


@register
class Gelu(ElementwiseOp):
    name = "gelu"
    attrs = GeluAttrs

    def infer(self, specs: Specs, attrs: GeluAttrs) -> Spec:
        if attrs.approximate not in ("none", "tanh"):
            raise ArgumentError(
                f"gelu: approximate must be 'none' or 'tanh', got {attrs.approximate!r}", op="gelu"
            )
        return ElementwiseOp.infer(self, specs, attrs)

    def kernel(self, specs: Specs, attrs: GeluAttrs) -> Kernel:
        form: Expression = _ERF if attrs.approximate == "none" else _TANH
        return Elementwise(form)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: GeluAttrs, needs: Needs
    ) -> Record:
        return GeluRecord(Saved(inputs[0]), attrs.approximate)


def gelu(x: Tensor[Float], approximate: Literal["none", "tanh"] = "none") -> Tensor[Float]:
    """The Gaussian error linear unit: ``x * P(x)`` with P the normal distribution function.

    ``approximate="tanh"`` is ``0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))``. Both
    are computed without cancellation in the negative tail; 0 at -inf.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``P(x) + x * p(x)`` with p the normal density; that of the tanh form likewise.
    **Raises.** KindError for Int and Bool, ArgumentError for another form.

    Source: Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016.

    >>> import lumus as lm
    >>> lm.gelu(lm.tensor([0.0, 100.0])).tolist()
    [0.0, 100.0]
    """
    return apply("gelu", x, approximate=approximate)
