"""softplus: a smooth form of relu."""

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
class SoftplusAttrs:
    """How sharp the bend is."""

    beta: float


@lru_cache(maxsize=256)
def _value(beta: float) -> Expression:
    return expression(
        lambda x: scalar.maximum(x, 0) + scalar.log1p(scalar.exp(-scalar.absolute(beta * x))) / beta
    )


@lru_cache(maxsize=256)
def _grad(beta: float) -> Expression:
    return expression(lambda grad, x: grad * scalar.sigmoid(beta * x))


@record
class SoftplusRecord(Record):
    """d softplus(x) / dx = grad * sigmoid(beta * x)."""

    x: Saved[Float]
    beta: float

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_grad(self.beta), grad, self.x.tensor()),)


@register
class Softplus(ElementwiseOp):
    name = "softplus"
    attrs = SoftplusAttrs

    def kernel(self, specs: Specs, attrs: SoftplusAttrs) -> Kernel:
        return Elementwise(_value(attrs.beta))

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: SoftplusAttrs,
        needs: Needs,
    ) -> Record:
        return SoftplusRecord(Saved(inputs[0]), attrs.beta)


def softplus(x: Tensor[Float], beta: float = 1.0) -> Tensor[Float]:
    """A smooth form of `relu`: ``log(1 + e**(beta * x)) / beta``, computed as ``max(x, 0) + log(1 +
    e**-|beta * x|) / beta``, which neither overflows nor needs a threshold.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** ``sigmoid(beta * x)``.
    **Raises.** KindError for Int and Bool, ArgumentError unless `beta` is positive and finite.

    >>> import lumus as lm
    >>> lm.softplus(lm.tensor([-1000.0, 1000.0])).tolist()
    [0.0, 1000.0]
    """
    return apply("softplus", x, beta=positive("softplus", "beta", beta))
