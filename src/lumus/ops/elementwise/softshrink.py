"""softshrink: each element moved towards zero."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from lumus.core.argument import not_negative
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
class SoftshrinkAttrs:
    """By how much."""

    lambd: float


@lru_cache(maxsize=256)
def _value(lambd: float) -> Expression:
    return expression(
        lambda x: scalar.where(scalar.absolute(x) <= lambd, 0.0, x - lambd * scalar.sign(x))
    )


@lru_cache(maxsize=256)
def _grad(lambd: float) -> Expression:
    return expression(lambda grad, x: scalar.where(scalar.absolute(x) > lambd, grad, 0.0))


@record
class SoftshrinkRecord(Record):
    """d softshrink(x) / dx = grad where |x| > lambd, else 0."""

    x: Saved[Float]
    lambd: float

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (fused(_grad(self.lambd), grad, self.x.tensor()),)


@register
class Softshrink(ElementwiseOp):
    name = "softshrink"
    attrs = SoftshrinkAttrs

    def kernel(self, specs: Specs, attrs: SoftshrinkAttrs) -> Kernel:
        return Elementwise(_value(attrs.lambd))

    def record(
        self,
        inputs: tuple[Tensor[Any], ...],
        output: Tensor[Any],
        attrs: SoftshrinkAttrs,
        needs: Needs,
    ) -> Record:
        return SoftshrinkRecord(Saved(inputs[0]), attrs.lambd)


def softshrink(x: Tensor[Float], lambd: float = 0.5) -> Tensor[Float]:
    """Each element moved towards zero by `lambd`, and no further: ``sign(x) * max(|x| - lambd,
    0)``. NaN stays NaN.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; half types compute in float32.
    **Gradient.** 1 where ``|x| > lambd``, else 0 (at NaN, too).
    **Raises.** KindError for Int and Bool, ArgumentError for a `lambd` that is negative or not
    finite.

    >>> import lumus as lm
    >>> lm.softshrink(lm.tensor([-2.0, 0.25, 3.0])).tolist()
    [-1.5, 0.0, 2.5]
    """
    # -0.0 and 0.0 are one key of the plans; the sum makes them one number, too.
    return apply("softshrink", x, lambd=not_negative("softshrink", "lambd", lambd) + 0.0)
