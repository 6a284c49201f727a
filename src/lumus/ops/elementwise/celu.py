"""celu: the exponential linear unit, continuously differentiable for every alpha."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from lumus.core.argument import positive
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.elementwise import Elementwise
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Float
from lumus.core.op import ElementwiseOp, Needs, Specs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import Expression, expression
from lumus.core.tensor import Tensor
from lumus.ops.elementwise.map import fused


@frozen
class CeluAttrs:
    """The scale of the negative side."""

    alpha: float


@lru_cache(maxsize=256)
def _value(alpha: float) -> Expression:
    return expression(lambda x: scalar.where(x > 0, x, alpha * scalar.expm1(x / alpha)))


@lru_cache(maxsize=256)
def _grad(alpha: float) -> Expression:
    return expression(lambda grad, x: scalar.where(x > 0, grad, grad * scalar.exp(x / alpha)))


@record
class CeluRecord(Record):
    """d celu(x) / dx = grad where x > 0, else grad * e**(x / alpha)."""

    x: Saved[Float]
    alpha: float

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_grad(self.alpha), grad, self.x.tensor()),)


@register
class Celu(ElementwiseOp):
    name = "celu"
    attrs = CeluAttrs

    def kernel(self, specs: Specs, attrs: CeluAttrs) -> Kernel:
        return Elementwise(_value(attrs.alpha))

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: CeluAttrs,
        needs: Needs,
    ) -> Record:
        return CeluRecord(Saved(inputs[0]), attrs.alpha)


def celu(x: Tensor[Float], alpha: float = 1.0) -> Tensor[Float]:
    """The exponential linear unit with a slope of 1 at 0 whatever `alpha` is: x where it is
    positive, ``alpha * (e**(x / alpha) - 1)`` elsewhere.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** 1 where ``x > 0``, else ``e**(x / alpha)``.
    **Raises.** KindError for Int and Bool, ArgumentError unless `alpha` is positive and finite.

    Source: Barron, "Continuously Differentiable Exponential Linear Units", arXiv:1704.07483, 2017.

    >>> import lumus as lm
    >>> lm.celu(lm.tensor([-100.0, 2.0]), 0.5).tolist()
    [-0.5, 2.0]
    """
    return apply("celu", x, alpha=positive("celu", "alpha", alpha))
