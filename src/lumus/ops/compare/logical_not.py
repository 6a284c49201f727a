"""logical_not: the negation of a mask."""

from __future__ import annotations

from lumus.core.dispatch import apply
from lumus.core.kinds import Bool
from lumus.core.op import Comparison, register
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor


@register
class LogicalNot(Comparison):
    name = "logical_not"
    kinds = ("bool",)
    scalar = expression(lambda x: scalar.logical_not(x))


def logical_not(x: Tensor[Bool]) -> Tensor[Bool]:
    """True where `x` is False.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Bool.
    **Gradient.** None: the result is Bool.
    **Raises.** KindError for Float and Int.

    >>> import lumus as lm
    >>> lm.logical_not(lm.tensor([True, False])).tolist()
    [False, True]
    """
    return apply("logical_not", x)
