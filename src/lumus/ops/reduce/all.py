"""all: whether all elements are True, over axes."""

from __future__ import annotations

from lumus.core.argument import axes_of
from lumus.core.dispatch import apply
from lumus.core.kinds import Bool
from lumus.core.op import register
from lumus.core.tensor import Axes, Tensor
from lumus.ops.reduce.axes import ReduceOp


@register
class All(ReduceOp):
    name = "all"
    reduction = "all"
    kinds = ("bool",)
    kind_hint = "compare first, for example with (x != 0)"
    differentiable = False
    reason = "its result is Bool"


def all(x: Tensor[Bool], axis: Axes = None, *, keepdims: bool = False) -> Tensor[Bool]:
    """Whether all elements are true, over `axis`; True of nothing.

    **Shapes.** The axes in `axis` (all by default) are removed, or kept with length 1 by
    `keepdims`.
    **Kinds.** Bool.
    **Gradient.** None: the result is Bool.
    **Raises.** KindError for Float and Int, ArgumentError for an axis out of range or named twice.

    >>> import lumus as lm
    >>> lm.all(lm.tensor([[True, False], [True, True]]), axis=1).tolist()
    [False, True]
    """
    axes = axes_of("all", x, axis)
    return apply("all", x, axes=axes, keepdims=keepdims)
