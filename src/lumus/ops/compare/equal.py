"""equal: where two tensors are equal."""

from __future__ import annotations

from typing import Any

from lumus.core.dispatch import apply
from lumus.core.kinds import Bool
from lumus.core.op import Comparison, register
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor, operands


@register
class Equal(Comparison):
    name = "equal"
    kinds = ("float", "int", "bool")
    scalar = expression(lambda x, y: scalar.equal(x, y))


def equal(x: Tensor[Any] | float, y: Tensor[Any] | float) -> Tensor[Bool]:
    """True where ``x == y``; NaN equals nothing.

    **Shapes.** Broadcast together.
    **Kinds.** Any, both the same; dtypes promote within the kind.
    **Gradient.** None: the result is Bool.
    **Raises.** KindError for mixed kinds, ShapeError for shapes that do not broadcast.

    >>> import lumus as lm
    >>> lm.equal(lm.tensor([1.0, 2.0]), 1.0).tolist()
    [True, False]
    """
    return apply("equal", *operands("equal", x, y))
