"""embedding_bag: rows of a table, put together by bags."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from lumus.core.argument import check_tensors, choice
from lumus.core.dispatch import apply
from lumus.core.dtypes import float32, int64
from lumus.core.kinds import Bool, Float, Int
from lumus.core.mode import MODE
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.core.values import require_values
from lumus.errors import ArgumentError, ShapeError
from lumus.ops.create.arange import arange
from lumus.ops.create.full import full
from lumus.ops.create.tensor import tensor
from lumus.ops.elementwise.where import where
from lumus.ops.embedding.embedding import embedding, row_number
from lumus.ops.interop.checked import checked
from lumus.ops.shape.concat import concat
from lumus.ops.sort.searchsorted import searchsorted

BagMode = Literal["sum", "mean", "max"]
OP = "embedding_bag"


def embedding_bag(
    ids: Tensor[Int],
    weight: Tensor[Float],
    offsets: Tensor[Int] | None = None,
    *,
    mode: BagMode = "mean",
    per_sample_weights: Tensor[Float] | None = None,
    padding_idx: int | None = None,
    scale_grad_by_freq: bool = False,
) -> Tensor[Float]:
    """The sum, mean or maximum of the rows of `weight` that each bag names; 0 for an empty bag.

    Bags are the rows of `ids`, or stand one after the other in `ids` of one axis, each from its
    offset on. The number `padding_idx` does not count. In a sum each row may have a weight.

    **Shapes.** `ids` (bags, n), or (n,) with `offsets` (bags,), and `weight` (rows, width) give
    (bags, width); `per_sample_weights` has the shape of `ids`.
    **Kinds.** `ids` and `offsets` are Int, the others Float; means of half types are computed in
    float32. The sizes of bags decide how maxima are computed: with `offsets` they cannot be traced.
    **Gradient.** As of the rows that `embedding` gives; of a maximum split evenly among ties.
    **Raises.** IndexRangeError for a number that is not in [0, rows), ArgumentError for offsets
    that do not ascend from 0 to at most n, ShapeError, KindError.

    >>> import lumus as lm
    >>> table = lm.tensor([[1.0], [3.0], [5.0]])
    >>> lm.nn.functional.embedding_bag(lm.tensor([0, 1, 2]), table, lm.tensor([0, 2])).tolist()
    [[2.0], [5.0]]
    """
    more = [one for one in (offsets, per_sample_weights) if one is not None]
    check_tensors(OP, ids, weight, *more)
    _check(ids, offsets, per_sample_weights, mode)
    bags = None if offsets is None else _Bags(offsets, ids)
    rows = embedding(ids, weight, padding_idx=padding_idx, scale_grad_by_freq=scale_grad_by_freq)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.expand_dims(-1)
    kept = None
    if padding_idx is not None:
        kept = ids.astype(int64) != row_number(OP, padding_idx, weight.shape[0])
    if mode == "max":
        return _largest(rows, kept, bags)
    if kept is not None:
        rows = where(kept.expand_dims(-1), rows, 0.0)
    return _summed(rows, bags) if mode == "sum" else _mean(rows, kept, bags)


def _check(ids: Any, offsets: Any, weights: Any, mode: str) -> None:
    choice(OP, "mode", mode, ("sum", "mean", "max"))
    if ids.ndim != (2 if offsets is None else 1) or (offsets is not None and offsets.ndim != 1):
        given = "" if offsets is None else f" and offsets {offsets.shape}"
        raise ShapeError(
            f"{OP}: ids must be (bags, n), or (n,) with offsets (bags,), got shape {ids.shape}"
            f"{given}",
            op=OP,
        )
    if offsets is not None and offsets.dtype.kind != "int":
        raise kind_error(OP, offsets.dtype, ("int",), what="offsets")
    if weights is not None and mode != "sum":
        raise ArgumentError(f"{OP}: per_sample_weights are for mode='sum', got {mode!r}", op=OP)
    if weights is not None and weights.shape != ids.shape:
        raise ShapeError(
            f"{OP}: per_sample_weights of shape {weights.shape} for ids of shape {ids.shape}",
            op=OP,
        )


class _Bags:
    """The bags that begin at `offsets`: how many, how large, and in which one each id is."""

    def __init__(self, offsets: Tensor[Int], ids: Tensor[Int]) -> None:
        count = ids.size
        self.count = offsets.size
        if not self.count and count:
            raise ArgumentError(f"{OP}: {count} numbers are in no bag: there are no offsets", op=OP)
        self._starts = offsets.astype(int64)
        end = full((min(1, self.count),), count, dtype=int64, device=ids.device)
        stops = concat([self._starts[1:], end])
        told = f"{OP}: offsets must ascend from 0 to at most {count}"
        ascends = (stops >= self._starts) & (self._starts[:1] == 0)
        if not MODE.get().has_values:
            stops = checked(stops, ascends, ArgumentError, told)
        elif not ascends.all():
            raise ArgumentError(f"{told}, got {offsets.tolist()}", op=OP)
        self._stops = stops
        self._places = arange(count, device=ids.device)

    def sizes(self) -> Tensor[Int]:
        """How many ids each has."""
        return self._stops - self._starts

    def of_ids(self) -> Tensor[Int]:
        """The number of the bag of each of the ids."""
        return searchsorted(self._stops, self._places, side="right")


def _summed(rows: Tensor[Float], bags: _Bags | None) -> Tensor[Float]:
    if bags is None:
        return rows.sum(axis=1)
    total: Tensor[Float] = apply(
        "embedding_grad", rows, bags.of_ids(), num_rows=bags.count, skipped=-1, averages=False
    )
    return total


def _mean(rows: Tensor[Float], kept: Tensor[Bool] | None, bags: _Bags | None) -> Tensor[Float]:
    dtype = rows.dtype
    if dtype.itemsize < float32.itemsize:
        rows = rows.astype(float32)  # the sum may be beyond what the mean is
    total = _summed(rows, bags)
    if kept is not None:
        counts = _summed(kept.expand_dims(-1).astype(rows.dtype), bags).maximum(1.0)
        return (total / counts).astype(dtype)
    if bags is None:
        return (total / max(1, rows.shape[1])).astype(dtype)
    each = bags.sizes().maximum(1).expand_dims(1)
    return (total / each.astype(rows.dtype)).astype(dtype)


def _largest(rows: Tensor[Float], kept: Tensor[Bool] | None, bags: _Bags | None) -> Tensor[Float]:
    if bags is None:
        return _largest_of(rows, kept)
    require_values(
        OP,
        "with mode='max' the size of each bag",
        "give bags of one size as rows, without offsets, or use mode='sum' or 'mean'",
    )
    sizes = bags.sizes().numpy()
    # Bags of one size stand together, and each size takes one reduction.
    order = np.argsort(sizes, kind="stable")
    ends = np.cumsum(sizes[order])
    shifts = (np.cumsum(sizes) - sizes)[order] - (ends - sizes[order])
    places = tensor(np.arange(rows.shape[0]) + np.repeat(shifts, sizes[order]), device=rows.device)
    each, counts = np.unique(sizes, return_counts=True)
    shapes = list(zip(counts.tolist(), each.tolist(), strict=True))
    lengths = [count * size for count, size in shapes]
    parts = rows.take(places).split(lengths)
    marks = [None] * len(parts) if kept is None else kept.take(places).split(lengths)
    made = [
        _largest_of(
            part.reshape(*shape, rows.shape[-1]), None if mark is None else mark.reshape(*shape)
        )
        for part, mark, shape in zip(parts, marks, shapes, strict=True)
    ]
    if not made:
        return rows.narrow(0, 0, 0)
    return concat(made).take(tensor(np.argsort(order), device=rows.device))


def _largest_of(bags: Tensor[Float], kept: Tensor[Bool] | None) -> Tensor[Float]:
    if bags.shape[1] == 0:
        return bags.sum(axis=1)
    if kept is None:
        return bags.max(axis=1)
    largest = where(kept.expand_dims(-1), bags, float("-inf")).max(axis=1)
    return where(kept.any(axis=1).expand_dims(-1), largest, 0.0)
