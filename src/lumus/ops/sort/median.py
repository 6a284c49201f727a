"""median: the middle of the elements over axes."""

from __future__ import annotations

from lumus.core.composite import composite
from lumus.core.kinds import Float
from lumus.core.tensor import Axes, Tensor
from lumus.ops.sort.quantile import quantile_of


@composite("median")
def median(x: Tensor[Float], axis: Axes = None, *, keepdims: bool = False) -> Tensor[Float]:
    """The middle of the elements over `axis` in order; of an even number the mean of the two.

    NaN if any element is.

    **Shapes.** The axes in `axis` (all by default) are removed, or kept with length 1 by
    `keepdims`.
    **Kinds.** Float.
    **Gradient.** `grad` at the middle element, or half of it at each of the two.
    **Raises.** KindError for Int and Bool, ShapeError for the median of nothing, ArgumentError for
    an axis out of range or named twice.

    >>> import lumus as lm
    >>> lm.median(lm.tensor([[3.0, 1.0, 2.0], [5.0, 0.0, 9.0]]), axis=1).tolist()
    [2.0, 5.0]
    """
    return quantile_of("median", x, 0.5, axis, keepdims=keepdims)
