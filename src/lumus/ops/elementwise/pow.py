"""pow: each element raised to a power."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.composite import composite
from lumus.core.dispatch import apply
from lumus.core.kinds import Float, Int
from lumus.core.mode import MODE
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor, operands
from lumus.errors import ArgumentError
from lumus.ops.broadcasting import sum_to
from lumus.ops.elementwise.map import fused, gradient_rule
from lumus.ops.interop.checked import checked

# p * x**(p - 1) is 0 * inf at x = 0, p = 0, where the function is constant.
_GRAD_X = gradient_rule(
    lambda grad, x, p: scalar.where(scalar.equal(p, 0), 0.0, grad * (p * scalar.power(x, p - 1)))
)
# x**p * log(x) is 0 * -inf at x = 0; for p > 0 the limit is 0, and 0 is the convention at p = 0.
_GRAD_P = gradient_rule(
    lambda grad, x, p: scalar.where(
        scalar.equal(x, 0) & (p >= 0), 0.0, grad * (scalar.power(x, p) * scalar.log(x))
    )
)


@record
class PowRecord(Record):
    """d x**p = (grad * p * x**(p - 1), grad * x**p * log(x)); 0 at p = 0, at x = 0 <= p."""

    x: Saved[Float]
    p: Saved[Float]
    needs: Needs

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        x, p = self.x.tensor(), self.p.tensor()
        return (
            sum_to(fused(_GRAD_X, grad, x, p), x.spec) if self.needs[0] else None,
            sum_to(fused(_GRAD_P, grad, x, p), p.spec) if self.needs[1] else None,
        )


@register
class Pow(ElementwiseOp):
    name = "pow"
    kinds = ("float", "int")
    scalar = expression(lambda x, p: scalar.power(x, p))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return PowRecord(Saved(inputs[0]), Saved(inputs[1]), needs)


@overload
def pow(x: Tensor[Float] | float, p: Tensor[Float] | float) -> Tensor[Float]: ...
@overload
def pow(x: Tensor[Int] | int, p: Tensor[Int] | int) -> Tensor[Int]: ...
@composite("pow")
def pow(x: Any, p: Any) -> Any:
    """Each element of `x` to the power `p`, by IEEE 754.

    ``0**0`` is 1, and a fractional power of a negative number is NaN.

    **Shapes.** Broadcast together.
    **Kinds.** Float, or Int with a power that is not negative (ints wrap); dtypes promote.
    **Gradient.** ``grad * p * x**(p - 1)`` for x, 0 where ``p`` is 0. ``grad * x**p * log(x)`` for
    p, 0 where ``x`` is 0 and ``p >= 0``.
    **Raises.** KindError for Bool or mixed kinds, ShapeError for shapes that do not broadcast,
    ArgumentError for a negative power of an Int.

    >>> import lumus as lm
    >>> lm.pow(lm.tensor([2.0, 3.0]), 2.0).tolist()
    [4.0, 9.0]
    """
    base, power = operands("pow", x, p)
    if base.dtype.kind == power.dtype.kind == "int" and power.size:
        told = "pow: an Int to the power {} is no Int"
        hint = "convert the base and the power with .astype(lumus.float32)"
        if not MODE.get().has_values:
            return apply("pow", base, checked(power, power >= 0, ArgumentError, told, hint))
        lowest = apply("min", power, axes=tuple(range(power.ndim)), keepdims=False).item()
        if lowest < 0:
            raise ArgumentError(told.format(lowest), hint=hint, op="pow")
    return apply("pow", base, power)
