"""greater_equal: where one tensor is not below another."""

from __future__ import annotations

from typing import Any

from lumus.core.dispatch import apply
from lumus.core.kinds import Bool
from lumus.core.op import Comparison, register
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor, operands


@register
class GreaterEqual(Comparison):
    name = "greater_equal"
    scalar = expression(lambda x, y: scalar.greater_equal(x, y))


def greater_equal(x: Tensor[Any] | float, y: Tensor[Any] | float) -> Tensor[Bool]:
    """True where ``x >= y``; False at NaN.

    **Shapes.** Broadcast together.
    **Kinds.** Float or Int, both the same; dtypes promote within the kind.
    **Gradient.** None: the result is Bool.
    **Raises.** KindError for Bool or mixed kinds, ShapeError for shapes that do not broadcast.

    >>> import lumus as lm
    >>> lm.greater_equal(lm.tensor([1.0, 2.0]), 1.0).tolist()
    [True, True]
    """
    return apply("greater_equal", *operands("greater_equal", x, y))
