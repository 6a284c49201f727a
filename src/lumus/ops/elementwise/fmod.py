"""fmod: the rest of a division that rounds towards zero."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.dispatch import apply
from lumus.core.kinds import Float, Int
from lumus.core.op import ElementwiseOp, Needs, register
from lumus.core.record import Record, Saved, record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor, operands
from lumus.ops.broadcasting import sum_to
from lumus.ops.elementwise.map import fused

# The quotient rounded towards zero is whole, but x / y may round up to the next integer.
_GRAD_Y = expression(lambda grad, x, y: -grad * scalar.round((x - scalar.fmod(x, y)) / y))


@record
class FmodRecord(Record):
    """d fmod(x, y) = (grad, -grad * trunc(x / y))."""

    x: Saved[Float] | None
    y: Saved[Float] | None
    x_spec: Spec | None

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        grad_y = None
        if self.x is not None and self.y is not None:
            y = self.y.tensor()
            grad_y = sum_to(fused(_GRAD_Y, grad, self.x.tensor(), y), y.spec)
        return (None if self.x_spec is None else sum_to(grad, self.x_spec), grad_y)


@register
class Fmod(ElementwiseOp):
    name = "fmod"
    kinds = ("float", "int")
    scalar = expression(lambda x, y: scalar.fmod(x, y))

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        x, y = inputs
        x_spec = x.spec if needs[0] else None
        if not needs[1]:
            return FmodRecord(None, None, x_spec)
        return FmodRecord(Saved(x), Saved(y), x_spec)


@overload
def fmod(x: Tensor[Float] | float, y: Tensor[Float] | float) -> Tensor[Float]: ...
@overload
def fmod(x: Tensor[Int] | int, y: Tensor[Int] | int) -> Tensor[Int]: ...
def fmod(x: Any, y: Any) -> Any:
    """The rest of a division that rounds towards zero: ``x - trunc(x / y) * y``, exact.

    It has the sign of x; `remainder`, which is ``%``, has that of y.

    **Shapes.** Broadcast together.
    **Kinds.** Float or Int, both the same. By zero it is NaN for Float, 0 for Int.
    **Gradient.** ``grad`` for x, ``-grad * trunc(x / y)`` for y.
    **Raises.** KindError for Bool or mixed kinds, ShapeError for shapes that do not broadcast.

    >>> import lumus as lm
    >>> lm.fmod(lm.tensor([-7.5, 7.5]), 2.0).tolist()
    [-1.5, 1.5]
    """
    return apply("fmod", *operands("fmod", x, y))
