"""unique: the elements that differ, in order."""

from __future__ import annotations

from typing import Any, Literal, overload

from lumus.core.argument import axis_of, check_tensors, flag
from lumus.core.broadcast import Shape
from lumus.core.composite import composite
from lumus.core.kinds import Bool, Int, K
from lumus.core.tensor import Tensor
from lumus.core.values import require_values
from lumus.ops.create.arange import arange
from lumus.ops.create.full import full, zeros
from lumus.ops.shape.concat import concat
from lumus.ops.shape.moveaxis import moveaxis


@overload
def unique(
    x: Tensor[K],
    *,
    return_index: Literal[False] = False,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    axis: int | None = None,
) -> Tensor[K]: ...
@overload
def unique(
    x: Tensor[K],
    *,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> Any: ...
@composite("unique")
def unique(
    x: Tensor[Any],
    *,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> Any:
    """The elements of `x`, each once, in order; or its slices along `axis`, ordered by their first
    elements, then by their second, and so on.

    With any of the flags a tuple: the values, the index of the first occurrence of each, the
    inverse (for each element of `x` the index of its value), the counts. NaNs count as equal here,
    and so do 0.0 and -0.0: the first of them stands for all.

    **Shapes.** The values have one axis, or that of `x` with `axis` as long as there are; index and
    counts have one axis. The inverse has the shape of `x`, or the length of `axis`.
    **Kinds.** Any; the others are int64. The shape depends on the values, so this cannot be traced.
    **Gradient.** `grad` of a value, at its first occurrence.
    **Raises.** ArgumentError for an axis out of range.

    >>> import lumus as lm
    >>> [one.tolist() for one in lm.unique(lm.tensor([3, 1, 3]), return_counts=True)]
    [[1, 3], [1, 2]]
    """
    check_tensors("unique", x)
    flags = {"index": return_index, "inverse": return_inverse, "counts": return_counts}
    wanted = [flag("unique", f"return_{name}", value) for name, value in flags.items()]
    require_values("unique", "how many there are", "call it outside, and pass what it gives")
    if axis is None:
        slices = x.reshape(-1)
        if not any(wanted):
            ordered = slices.sort()
            return ordered[_first_of_run(ordered.detach().expand_dims(1))]
    else:
        axis = axis_of("unique", x, axis)
        slices = moveaxis(x, axis, 0)
    count = slices.shape[0]
    rows = slices.detach().reshape(count, slices.size // count if count else 0)
    order = _order_of_rows(rows)
    is_first = _first_of_run(rows.take(order))
    first = order[is_first]
    values = slices.take(first) if axis is None else moveaxis(slices.take(first), 0, axis)
    results = [values]
    if wanted[0]:
        results.append(first)
    if wanted[1]:
        results.append(_inverse(order, is_first, x.shape if axis is None else order.shape))
    if wanted[2]:
        results.append(_counts(is_first))
    return tuple(results) if any(wanted) else values


def _order_of_rows(rows: Tensor[Any]) -> Tensor[Int]:
    """The order of rows by their first columns, then by their second, and so on."""
    order = arange(rows.shape[0], device=rows.device)
    for column in reversed(range(rows.shape[1])):
        order = order.take(rows[:, column].take(order).argsort())
    return order


def _first_of_run(rows: Tensor[Any]) -> Tensor[Bool]:
    """Which of the ordered rows differ from the one before."""
    count = rows.shape[0]
    before, here = rows[: max(count - 1, 0)], rows[1:]
    differs: Tensor[Bool] = before != here
    if rows.dtype.kind == "float":
        differs = differs & ~(before.isnan() & here.isnan())
    return concat([full((min(count, 1),), True, device=rows.device), differs.any(axis=1)])


def _inverse(order: Tensor[Int], is_first: Tensor[Bool], shape: Shape) -> Tensor[Int]:
    """For each element the number of its run."""
    runs = is_first.cumsum(0) - 1
    return (
        zeros(order.shape, dtype=order.dtype, device=order.device)
        .at[order]
        .set(runs)
        .reshape(shape)
    )


def _counts(is_first: Tensor[Bool]) -> Tensor[Int]:
    """How long each run is."""
    count = is_first.shape[0]
    starts = arange(count, device=is_first.device)[is_first]
    ends = concat([starts[1:], full((min(count, 1),), count, device=is_first.device)])
    return ends - starts
