"""logical_xor: where exactly one of two masks is true."""

from __future__ import annotations

from lumus.core.dispatch import apply
from lumus.core.kinds import Bool
from lumus.core.op import Comparison, register
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor, operands


@register
class LogicalXor(Comparison):
    name = "logical_xor"
    kinds = ("bool",)
    scalar = expression(lambda x, y: scalar.logical_xor(x, y))


def logical_xor(x: Tensor[Bool] | bool, y: Tensor[Bool] | bool) -> Tensor[Bool]:
    """True where exactly one is.

    **Shapes.** Broadcast together.
    **Kinds.** Bool.
    **Gradient.** None: the result is Bool.
    **Raises.** KindError for Float and Int, ShapeError for shapes that do not broadcast.

    >>> import lumus as lm
    >>> lm.logical_xor(lm.tensor([True, False]), lm.tensor([True, True])).tolist()
    [False, True]
    """
    return apply("logical_xor", *operands("logical_xor", x, y))
