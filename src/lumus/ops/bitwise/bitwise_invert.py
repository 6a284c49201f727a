"""bitwise_invert: each bit turned."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.dispatch import apply
from lumus.core.kinds import Bool, Int
from lumus.core.op import register
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor
from lumus.ops.bitwise.operation import BitwiseOp


@register
class BitwiseInvert(BitwiseOp):
    name = "bitwise_invert"
    scalar = expression(lambda x: scalar.bitwise_invert(x))
    on_masks = expression(lambda x: scalar.logical_not(x))


@overload
def bitwise_invert(x: Tensor[Int]) -> Tensor[Int]: ...
@overload
def bitwise_invert(x: Tensor[Bool]) -> Tensor[Bool]: ...
def bitwise_invert(x: Any) -> Any:
    """Each bit turned: ``~x``, which is ``-x - 1``. For masks it is `logical_not`.

    **Shapes.** Any; the result has the shape of `x`.
    **Kinds.** Int or Bool.
    **Gradient.** None: the operand is Int or Bool.
    **Raises.** KindError for Float.

    >>> import lumus as lm
    >>> lm.bitwise_invert(lm.tensor([0, 5])).tolist()
    [-1, -6]
    """
    return apply("bitwise_invert", x)
