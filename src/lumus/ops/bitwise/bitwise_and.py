"""bitwise_and: the bits set in both."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.dispatch import apply
from lumus.core.kinds import Bool, Int
from lumus.core.op import register
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor, operands
from lumus.ops.bitwise.operation import BitwiseOp


@register
class BitwiseAnd(BitwiseOp):
    name = "bitwise_and"
    scalar = expression(lambda x, y: scalar.bitwise_and(x, y))
    on_masks = expression(lambda x, y: scalar.logical_and(x, y))


@overload
def bitwise_and(x: Tensor[Int] | int, y: Tensor[Int] | int) -> Tensor[Int]: ...
@overload
def bitwise_and(x: Tensor[Bool] | bool, y: Tensor[Bool] | bool) -> Tensor[Bool]: ...
def bitwise_and(x: Any, y: Any) -> Any:
    """The bits set in both: ``x & y``. For masks it is `logical_and`.

    **Shapes.** Broadcast together.
    **Kinds.** Int or Bool, both the same; dtypes promote within the kind.
    **Gradient.** None: the operands are Int or Bool.
    **Raises.** KindError for Float or mixed kinds, ShapeError for shapes that do not broadcast.

    >>> import lumus as lm
    >>> lm.bitwise_and(lm.tensor([12]), 10).tolist()
    [8]
    """
    return apply("bitwise_and", *operands("bitwise_and", x, y))
