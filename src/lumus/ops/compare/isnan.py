"""isnan: where a tensor is NaN."""

from __future__ import annotations

from lumus.core.dispatch import apply
from lumus.core.kinds import Bool, Float
from lumus.core.op import Comparison, register
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor


@register
class Isnan(Comparison):
    name = "isnan"
    kinds = ("float",)
    scalar = expression(lambda x: scalar.isnan(x))


def isnan(x: Tensor[Float]) -> Tensor[Bool]:
    """True where `x` is not a number.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; ints are always finite.
    **Gradient.** None: the result is Bool.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.isnan(lm.tensor([1.0, float("inf"), float("nan")])).tolist()
    [False, False, True]
    """
    return apply("isnan", x)
