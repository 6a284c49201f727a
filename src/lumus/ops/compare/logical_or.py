"""logical_or: the disjunction of two masks."""

from __future__ import annotations

from lumus.core.dispatch import apply
from lumus.core.kinds import Bool
from lumus.core.op import Comparison, register
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor, operands


@register
class LogicalOr(Comparison):
    name = "logical_or"
    kinds = ("bool",)
    scalar = expression(lambda x, y: scalar.logical_or(x, y))


def logical_or(x: Tensor[Bool] | bool, y: Tensor[Bool] | bool) -> Tensor[Bool]:
    """True where either is.

    **Shapes.** Broadcast together.
    **Kinds.** Bool.
    **Gradient.** None: the result is Bool.
    **Raises.** KindError for Float and Int, ShapeError for shapes that do not broadcast.

    >>> import lumus as lm
    >>> lm.logical_or(lm.tensor([True, False]), lm.tensor([True, True])).tolist()
    [True, True]
    """
    return apply("logical_or", *operands("logical_or", x, y))
