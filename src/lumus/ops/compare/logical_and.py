"""logical_and: the conjunction of two masks."""

from __future__ import annotations

from lumus.core.dispatch import apply
from lumus.core.kinds import Bool
from lumus.core.op import Comparison, register
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor, operands


@register
class LogicalAnd(Comparison):
    name = "logical_and"
    kinds = ("bool",)
    scalar = expression(lambda x, y: scalar.logical_and(x, y))


def logical_and(x: Tensor[Bool] | bool, y: Tensor[Bool] | bool) -> Tensor[Bool]:
    """True where both are.

    **Shapes.** Broadcast together.
    **Kinds.** Bool.
    **Gradient.** None: the result is Bool.
    **Raises.** KindError for Float and Int, ShapeError for shapes that do not broadcast.

    >>> import lumus as lm
    >>> lm.logical_and(lm.tensor([True, False]), lm.tensor([True, True])).tolist()
    [True, False]
    """
    return apply("logical_and", *operands("logical_and", x, y))
