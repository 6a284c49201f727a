"""var: the variance of elements over axes."""

from __future__ import annotations

from lumus.core.argument import axes_of, finite
from lumus.core.composite import composite
from lumus.core.dtypes import float32, is_half
from lumus.core.kinds import Float
from lumus.core.tensor import Axes, Tensor
from lumus.ops.reduce.axes import count_of


@composite("var")
def var(
    x: Tensor[Float], axis: Axes = None, *, correction: float = 0.0, keepdims: bool = False
) -> Tensor[Float]:
    """The variance of elements over `axis`: ``sum((x - mean(x))**2) / (n - correction)``.

    Computed in two passes, so a large mean costs no digits; half precision in float32, rounded
    once. ``correction=1`` is the unbiased form; it is NaN when ``n <= correction``.

    **Shapes.** The axes in `axis` (all by default) are removed, or kept with length 1 by
    `keepdims`.
    **Kinds.** Float.
    **Gradient.** ``grad * 2 * (x - mean(x)) / (n - correction)``; exactly 0 for equal elements.
    **Raises.** KindError for Int and Bool, ArgumentError for an axis out of range or named twice.

    >>> import lumus as lm
    >>> lm.var(lm.tensor([1.0, 2.0, 3.0]), correction=1).tolist()
    1.0
    """
    axes = axes_of("var", x, axis)
    correction = finite("var", "correction", correction)
    if is_half(x.dtype):
        wide = var(x.astype(float32), axes, correction=correction, keepdims=keepdims)
        return wide.astype(x.dtype)
    centred = x - x.mean(axis=axes, keepdims=True)
    divisor = count_of(x.shape, axes) - correction
    total = centred.square().sum(axis=axes, keepdims=keepdims)
    return total / divisor if divisor > 0 else total * float("nan")
