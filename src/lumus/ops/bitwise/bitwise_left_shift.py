"""bitwise_left_shift: the bits moved to higher places."""

from __future__ import annotations

from lumus.core.dispatch import apply
from lumus.core.kinds import Int
from lumus.core.op import ElementwiseOp, register
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor, operands


@register
class BitwiseLeftShift(ElementwiseOp):
    name = "bitwise_left_shift"
    kinds = ("int",)
    scalar = expression(lambda x, y: scalar.bitwise_left_shift(x, y))
    differentiable = False
    reason = "its operands are Int"


def bitwise_left_shift(x: Tensor[Int] | int, y: Tensor[Int] | int) -> Tensor[Int]:
    """The bits of x moved by y places: ``x << y``; zeros come in from below.

    A shift by the width of the dtype or more, or by a negative count, gives 0.

    **Shapes.** Broadcast together.
    **Kinds.** Int; dtypes promote.
    **Gradient.** None: the operands are Int.
    **Raises.** KindError for Float and Bool, ShapeError for shapes that do not broadcast.

    >>> import lumus as lm
    >>> lm.bitwise_left_shift(lm.tensor([1, 3]), 2).tolist()
    [4, 12]
    """
    return apply("bitwise_left_shift", *operands("bitwise_left_shift", x, y))
