"""isfinite: where a tensor is finite."""

from __future__ import annotations

from lumus.core.dispatch import apply
from lumus.core.kinds import Bool, Float
from lumus.core.op import Comparison, register
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor


@register
class Isfinite(Comparison):
    name = "isfinite"
    kinds = ("float",)
    scalar = expression(lambda x: scalar.isfinite(x))


def isfinite(x: Tensor[Float]) -> Tensor[Bool]:
    """True where `x` is neither infinite nor NaN.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Float; ints are always finite.
    **Gradient.** None: the result is Bool.
    **Raises.** KindError for Int and Bool.

    >>> import lumus as lm
    >>> lm.isfinite(lm.tensor([1.0, float("inf"), float("nan")])).tolist()
    [True, False, False]
    """
    return apply("isfinite", x)
