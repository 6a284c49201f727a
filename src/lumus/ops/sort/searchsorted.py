"""searchsorted: where values would stand in what is sorted."""

from __future__ import annotations

from typing import Any, Literal

from lumus.core.argument import check_tensors
from lumus.core.dispatch import apply
from lumus.core.dtypes import int64, promote
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.lines import SearchSorted
from lumus.core.kinds import Int, K
from lumus.core.op import Op, Specs, register
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor, require_operand
from lumus.errors import ArgumentError, ShapeError


@frozen
class SearchsortedAttrs:
    """Whether equal elements stand before the place."""

    right: bool


@register
class Searchsorted(Op):
    name = "searchsorted"
    attrs = SearchsortedAttrs
    differentiable = False
    reason = "its result is Int"

    def infer(self, specs: Specs, attrs: SearchsortedAttrs) -> Spec:
        lines, values = specs
        if lines.ndim != 1 and (not lines.ndim or lines.shape[:-1] != values.shape[:-1]):
            raise ShapeError(
                f"searchsorted: sorted of shape {lines.shape} for values of shape {values.shape}; "
                "it must have one axis, or all axes of the values but for the last",
                op="searchsorted",
                specs=specs,
            )
        return values.with_dtype(int64)

    def kernel(self, specs: Specs, attrs: SearchsortedAttrs) -> Kernel:
        return SearchSorted(attrs.right)


def searchsorted(
    x: Tensor[K], values: Tensor[K] | float, *, side: Literal["left", "right"] = "left"
) -> Tensor[Int]:
    """For each value the position in `x` at which it would keep `x` sorted.

    ``x[i-1] < value <= x[i]`` with ``side="left"``, ``x[i-1] <= value < x[i]`` with
    ``side="right"``. `x` ascends along its last axis, NaN last, as `sort` leaves it; that is not
    checked.

    **Shapes.** `x` (n,) and values of any shape, or `x` (..., n) and values (..., m), each searched
    in its own line. The result has the shape of `values`.
    **Kinds.** Any, the same for both; dtypes promote. The result is int64.
    **Gradient.** None: the result is Int.
    **Raises.** ShapeError, KindError for kinds that differ, ArgumentError for another side.

    >>> import lumus as lm
    >>> lm.searchsorted(lm.tensor([1, 2, 2, 3]), lm.tensor([2, 9])).tolist()
    [1, 4]
    """
    check_tensors("searchsorted", x)
    if side not in ("left", "right"):
        raise ArgumentError(f"searchsorted: side must be 'left' or 'right', got {side!r}")
    wanted: Tensor[Any] = require_operand(x, values, "searchsorted")
    dtype = promote(x.dtype, wanted.dtype, "searchsorted")
    return apply("searchsorted", x.astype(dtype), wanted.astype(dtype), right=side == "right")
