"""not_equal: where two tensors differ."""

from __future__ import annotations

from typing import Any

from lumus.core.dispatch import apply
from lumus.core.kinds import Bool
from lumus.core.op import Comparison, register
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor, operands


@register
class NotEqual(Comparison):
    name = "not_equal"
    kinds = ("float", "int", "bool")
    scalar = expression(lambda x, y: scalar.not_equal(x, y))


def not_equal(x: Tensor[Any] | float, y: Tensor[Any] | float) -> Tensor[Bool]:
    """True where ``x != y``; NaN differs from everything.

    **Shapes.** Broadcast together.
    **Kinds.** Any, both the same; dtypes promote within the kind.
    **Gradient.** None: the result is Bool.
    **Raises.** KindError for mixed kinds, ShapeError for shapes that do not broadcast.

    >>> import lumus as lm
    >>> lm.not_equal(lm.tensor([1.0, 2.0]), 1.0).tolist()
    [False, True]
    """
    return apply("not_equal", *operands("not_equal", x, y))
