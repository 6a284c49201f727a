"""any: whether any element is True, over axes."""

from __future__ import annotations

from lumus.core.argument import axes_of
from lumus.core.dispatch import apply
from lumus.core.kinds import Bool
from lumus.core.op import register
from lumus.core.tensor import Axes, Tensor
from lumus.ops.reduce.axes import ReduceOp


@register
class Any(ReduceOp):
    name = "any"
    reduction = "any"
    kinds = ("bool",)
    kind_hint = "compare first, for example with (x != 0)"
    differentiable = False
    reason = "its result is Bool"


def any(x: Tensor[Bool], axis: Axes = None, *, keepdims: bool = False) -> Tensor[Bool]:
    """Whether any element is true, over `axis`; False of nothing.

    **Shapes.** The axes in `axis` (all by default) are removed, or kept with length 1 by
    `keepdims`.
    **Kinds.** Bool.
    **Gradient.** None: the result is Bool.
    **Raises.** KindError for Float and Int, ArgumentError for an axis out of range or named twice.

    >>> import lumus as lm
    >>> lm.any(lm.tensor([[True, False], [True, True]]), axis=1).tolist()
    [True, True]
    """
    axes = axes_of("any", x, axis)
    return apply("any", x, axes=axes, keepdims=keepdims)
