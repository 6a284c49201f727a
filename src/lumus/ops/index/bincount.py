"""bincount: how often each number occurs."""

from __future__ import annotations

from typing import overload

from lumus.core.argument import check_tensors
from lumus.core.broadcast import integer
from lumus.core.dtypes import int64
from lumus.core.kinds import Float, Int
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.core.values import require_values
from lumus.errors import ArgumentError, IndexRangeError, ShapeError
from lumus.ops.create.full import ones, zeros
from lumus.ops.index.scatter_add import scatter_add


@overload
def bincount(x: Tensor[Int], weights: None = None, *, minlength: int = 0) -> Tensor[Int]: ...
@overload
def bincount(x: Tensor[Int], weights: Tensor[Float], *, minlength: int = 0) -> Tensor[Float]: ...
def bincount(
    x: Tensor[Int], weights: Tensor[Float] | None = None, *, minlength: int = 0
) -> Tensor[Int] | Tensor[Float]:
    """How often each of 0, 1, ... occurs in `x`, or the sum of the weights where it does.

    **Shapes.** `x` and `weights` (n,); the result is as long as the largest number asks, and at
    least `minlength`. The shape depends on the values, so this cannot be traced.
    **Kinds.** `x` is Int, `weights` are Float; the result is int64, or of the weights' dtype.
    **Gradient.** For a weight, `grad` at its number.
    **Raises.** IndexRangeError for a negative number, ShapeError for more axes than one or shapes
    that differ, KindError, ArgumentError for a `minlength` below 0.

    >>> import lumus as lm
    >>> lm.bincount(lm.tensor([1, 3, 1])).tolist()
    [0, 2, 0, 1]
    """
    check_tensors("bincount", x, *(() if weights is None else (weights,)))
    minlength = integer("bincount", "minlength", minlength)
    if minlength < 0:
        raise ArgumentError(f"bincount: minlength must not be below 0, got {minlength}")
    if x.dtype.kind != "int":
        raise kind_error("bincount", x.dtype, ("int",))
    if weights is not None and weights.dtype.kind != "float":
        raise kind_error("bincount", weights.dtype, ("float",), what="weights")
    if x.ndim != 1 or (weights is not None and weights.shape != x.shape):
        of_weights = "" if weights is None else f" with weights of shape {weights.shape}"
        raise ShapeError(
            f"bincount: numbers of shape {x.shape}{of_weights}; they must be (n,)", op="bincount"
        )
    require_values(
        "bincount",
        "how many there are",
        "with a known number n of them: lumus.zeros((n,)).at[x].add(1.0)",
    )
    if x.size and int(x.min().item()) < 0:
        raise IndexRangeError(
            f"bincount: {x.min().item()} at position {x.argmin().item()} is below 0", op="bincount"
        )
    length = max(int(x.max().item()) + 1 if x.size else 0, minlength)
    if weights is None:
        counted = ones(x.shape, dtype=int64, device=x.device)
        return scatter_add(zeros((length,), dtype=int64, device=x.device), x, counted)
    return scatter_add(zeros((length,), dtype=weights.dtype, device=x.device), x, weights)
