"""bitwise_xor: the bits set in one of the two alone."""

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
class BitwiseXor(BitwiseOp):
    name = "bitwise_xor"
    scalar = expression(lambda x, y: scalar.bitwise_xor(x, y))
    on_masks = expression(lambda x, y: scalar.logical_xor(x, y))


@overload
def bitwise_xor(x: Tensor[Int] | int, y: Tensor[Int] | int) -> Tensor[Int]: ...
@overload
def bitwise_xor(x: Tensor[Bool] | bool, y: Tensor[Bool] | bool) -> Tensor[Bool]: ...
def bitwise_xor(x: Any, y: Any) -> Any:
    """The bits set in one of the two alone: ``x ^ y``. For masks it is `logical_xor`.

    **Shapes.** Broadcast together.
    **Kinds.** Int or Bool, both the same; dtypes promote within the kind.
    **Gradient.** None: the operands are Int or Bool.
    **Raises.** KindError for Float or mixed kinds, ShapeError for shapes that do not broadcast.

    >>> import lumus as lm
    >>> lm.bitwise_xor(lm.tensor([12]), 10).tolist()
    [6]
    """
    return apply("bitwise_xor", *operands("bitwise_xor", x, y))
