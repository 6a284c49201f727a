"""elu: the exponential linear unit."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from lumus.core.argument import finite
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
class EluAttrs:
    """The scale of the negative side."""

    alpha: float


@lru_cache(maxsize=256)
def _value(alpha: float) -> Expression:
    return expression(lambda x: scalar.where(x > 0, x, alpha * scalar.expm1(x)))


@lru_cache(maxsize=256)
def _grad(alpha: float) -> Expression:
    return expression(lambda grad, x: scalar.where(x > 0, grad, grad * (alpha * scalar.exp(x))))


@record
class EluRecord(Record):
    """d elu(x) / dx = grad where x > 0, else grad * alpha * e**x."""

    x: Saved[Float]
    alpha: float

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_grad(self.alpha), grad, self.x.tensor()),)


@register
class Elu(ElementwiseOp):
    name = "elu"
    attrs = EluAttrs

    def kernel(self, specs: Specs, attrs: EluAttrs) -> Kernel:
        return Elementwise(_value(attrs.alpha))

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: EluAttrs,
        needs: Needs,
    ) -> Record:
        return EluRecord(Saved(inputs[0]), attrs.alpha)


def elu(x: Tensor[Float], alpha: float = 1.0) -> Tensor[Float]:
    """The exponential linear unit: x where it is positive, ``alpha * (e**x - 1)`` elsewhere.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** 1 where ``x > 0``, else ``alpha * e**x`` (at 0, too).
    **Raises.** KindError for Int and Bool, ArgumentError for an `alpha` that is not finite.

    Source: Clevert et al., "Fast and Accurate Deep Network Learning by Exponential Linear Units",
    ICLR 2016.

    >>> import lumus as lm
    >>> lm.elu(lm.tensor([-100.0, 2.0]), 0.5).tolist()
    [-0.5, 2.0]
    """
    # -0.0 and 0.0 are one key of the plans; the sum makes them one number, too.
    return apply("elu", x, alpha=finite("elu", "alpha", alpha) + 0.0)
