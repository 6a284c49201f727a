"""leaky_relu: each element, scaled by a small slope where it is negative."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from lumus.core.argument import real
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
class LeakyReluAttrs:
    """The slope on the negative side."""

    slope: float


@lru_cache(maxsize=256)
def _value(slope: float) -> Expression:
    return expression(lambda x: scalar.where(x < 0, slope * x, x))


@lru_cache(maxsize=256)
def _grad(slope: float) -> Expression:
    return expression(lambda grad, x: scalar.where(x > 0, grad, slope * grad))


@record
class LeakyReluRecord(Record):
    """d leaky_relu(x) / dx = grad where x > 0, else slope * grad."""

    x: Saved[Float]
    slope: float

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_grad(self.slope), grad, self.x.tensor()),)


@register
class LeakyRelu(ElementwiseOp):
    name = "leaky_relu"
    attrs = LeakyReluAttrs

    def kernel(self, specs: Specs, attrs: LeakyReluAttrs) -> Kernel:
        return Elementwise(_value(attrs.slope))

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: LeakyReluAttrs,
        needs: Needs,
    ) -> Record:
        return LeakyReluRecord(Saved(inputs[0]), attrs.slope)


def leaky_relu(x: Tensor[Float], slope: float = 0.01) -> Tensor[Float]:
    """Each element where it is positive, `slope` times it where it is negative. NaN stays NaN.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** 1 where ``x > 0``, else `slope` (at 0, too).
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.leaky_relu(lm.tensor([-2.0, 3.0]), 0.5).tolist()
    [-1.0, 3.0]
    """
    # -0.0 and 0.0 are one key of the plans; the sum makes them one number, too.
    return apply("leaky_relu", x, slope=real("leaky_relu", "slope", slope) + 0.0)
