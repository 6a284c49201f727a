"""cummin: the smallest element so far along an axis, and its position."""

from __future__ import annotations

from typing import Any, overload

from lumus.core.composite import composite
from lumus.core.dispatch import apply
from lumus.core.kinds import Float, Int
from lumus.core.op import register
from lumus.core.tensor import Tensor
from lumus.ops.scan.axis import scan_axis
from lumus.ops.scan.extremes import RunningExtremeOp


@register
class Cummin(RunningExtremeOp):
    name = "cummin"
    extreme = "min"


@overload
def cummin(x: Tensor[Float], axis: int | None = None) -> tuple[Tensor[Float], Tensor[Int]]: ...
@overload
def cummin(x: Tensor[Int], axis: int | None = None) -> tuple[Tensor[Int], Tensor[Int]]: ...
@composite("cummin")
def cummin(x: Any, axis: int | None = None) -> Any:
    """(values, indices): the smallest element up to each one along `axis`, and where it stands.

    Of equal elements the first counts; a NaN counts as the smallest from there on. `axis` may be
    left out for a tensor of one axis.

    **Shapes.** Any with at least one axis; both results have the shape of `x`.
    **Kinds.** Float or Int; the values keep the dtype, the indices are int64.
    **Gradient.** `grad` of the values, added at the indices.
    **Raises.** KindError for Bool, ArgumentError for an axis out of range, or none named where
    there are several.

    >>> import lumus as lm
    >>> [one.tolist() for one in lm.cummin(lm.tensor([1.0, 3.0, 3.0]))]
    [[1.0, 1.0, 1.0], [0, 0, 0]]
    """
    return apply("cummin", x, axis=scan_axis("cummin", x, axis))
