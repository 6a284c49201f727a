"""isinf: where a tensor is infinite."""

from __future__ import annotations

from lumus.core.dispatch import apply
from lumus.core.kinds import Bool, Float
from lumus.core.op import Comparison, register
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor


@register
class Isinf(Comparison):
    name = "isinf"
    kinds = ("float",)
    scalar = expression(lambda x: scalar.isinf(x))


def isinf(x: Tensor[Float]) -> Tensor[Bool]:
    """True where `x` is an infinity of either sign.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; ints are always finite.
    **Gradient.** None: the result is Bool.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.isinf(lm.tensor([1.0, float("inf"), float("nan")])).tolist()
    [False, True, False]
    """
    return apply("isinf", x)
