"""polygamma: derivatives of digamma of any order."""

from __future__ import annotations

from functools import lru_cache
from math import factorial
from typing import Any

from lumus.core.broadcast import integer
from lumus.core.dispatch import apply
from lumus.core.dtypes import LARGEST, float32, is_half
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
from lumus.ops.elementwise.map import fused, gradient_rule


@frozen
class PolygammaAttrs:
    """The order, at least 1."""

    n: int


def _factor(n: int) -> float:
    return float(factorial(n) if n % 2 else -factorial(n))


@lru_cache(maxsize=256)
def _value(n: int) -> Expression:
    return expression(lambda x: _factor(n) * scalar.zeta(n + 1, x))


# Without the factorial of n + 1, which may be beyond the dtype.
@lru_cache(maxsize=256)
def _grad(n: int) -> Expression:
    return gradient_rule(lambda grad, x: grad * (-_factor(n) * ((n + 1) * scalar.zeta(n + 2, x))))


@record
class PolygammaRecord(Record):
    """d polygamma(n, x) / dx = grad * polygamma(n + 1, x)."""

    x: Saved[Float]
    n: int

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_grad(self.n), grad, self.x.tensor()),)


@register
class Polygamma(ElementwiseOp):
    name = "polygamma"
    attrs = PolygammaAttrs

    def infer(self, specs: Specs, attrs: PolygammaAttrs) -> Spec:
        spec = super().infer(specs, attrs)
        computed = float32 if is_half(spec.dtype) else spec.dtype
        # 170! is the last that float64 holds; those far beyond take long to find.
        if attrs.n > 170 or factorial(attrs.n) > LARGEST[computed.name]:
            raise ArgumentError(
                f"polygamma: the factor {attrs.n}! is beyond {computed.name}", op="polygamma"
            )
        return spec

    def kernel(self, specs: Specs, attrs: PolygammaAttrs) -> Kernel:
        return Elementwise(_value(attrs.n))

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: PolygammaAttrs,
        needs: Needs,
    ) -> Record:
        return PolygammaRecord(Saved(inputs[0]), attrs.n)


def polygamma(n: int, x: Tensor[Float]) -> Tensor[Float]:
    """The n-th derivative of `digamma`: ``(-1)**(n + 1) * n!`` times the sum of
    ``(x + k)**-(n + 1)`` over all k >= 0.

    ``polygamma(0, x)`` is ``digamma(x)``. At 0 and the negative whole numbers the sum is inf.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``polygamma(n + 1, x)``.
    **Raises.** KindError for Int and Bool, ArgumentError for a negative n, or one whose factorial
    is beyond the dtype (34 for float32, 170 for float64).

    >>> import lumus as lm
    >>> lm.polygamma(1, lm.tensor([1.0])).tolist()
    [1.644934058189392]
    """
    order = integer("polygamma", "n", n)
    if order < 0:
        raise ArgumentError(f"polygamma: n cannot be negative, got {order}", op="polygamma")
    if order == 0:
        return apply("digamma", x)
    return apply("polygamma", x, n=order)
