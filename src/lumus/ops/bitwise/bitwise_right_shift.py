"""bitwise_right_shift: the bits moved to lower places."""

from __future__ import annotations

from lumus.core.dispatch import apply
from lumus.core.kinds import Int
from lumus.core.op import ElementwiseOp, register
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor, operands


@register
class BitwiseRightShift(ElementwiseOp):
    name = "bitwise_right_shift"
    kinds = ("int",)
    scalar = expression(lambda x, y: scalar.bitwise_right_shift(x, y))
    differentiable = False
    reason = "its operands are Int"


def bitwise_right_shift(x: Tensor[Int] | int, y: Tensor[Int] | int) -> Tensor[Int]:
    """The bits of x moved by y places: ``x >> y``; the sign comes in from above.

    A shift by the width of the dtype or more, or by a negative count, gives 0, or -1 for a
    negative x.

    **Shapes.** Broadcast together.
    **Kinds.** Int; dtypes promote.
    **Gradient.** None: the operands are Int.
    **Raises.** KindError for Float and Bool, ShapeError for shapes that do not broadcast.

    >>> import lumus as lm
    >>> lm.bitwise_right_shift(lm.tensor([12, -1]), 2).tolist()
    [3, -1]
    """
    return apply("bitwise_right_shift", *operands("bitwise_right_shift", x, y))
