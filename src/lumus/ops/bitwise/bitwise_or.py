"""bitwise_or: the bits set in either."""

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
class BitwiseOr(BitwiseOp):
    name = "bitwise_or"
    scalar = expression(lambda x, y: scalar.bitwise_or(x, y))
    on_masks = expression(lambda x, y: scalar.logical_or(x, y))


@overload
def bitwise_or(x: Tensor[Int] | int, y: Tensor[Int] | int) -> Tensor[Int]: ...
@overload
def bitwise_or(x: Tensor[Bool] | bool, y: Tensor[Bool] | bool) -> Tensor[Bool]: ...
def bitwise_or(x: Any, y: Any) -> Any:
    """The bits set in either: ``x | y``. For masks it is `logical_or`.

    **Shapes.** Broadcast together.
    **Kinds.** Int or Bool, both the same; dtypes promote within the kind.
    **Gradient.** None: the operands are Int or Bool.
    **Raises.** KindError for Float or mixed kinds, ShapeError for shapes that do not broadcast.

    >>> import lumus as lm
    >>> lm.bitwise_or(lm.tensor([12]), 10).tolist()
    [14]
    """
    return apply("bitwise_or", *operands("bitwise_or", x, y))
