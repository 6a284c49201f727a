"""Reading and writing by index expressions.

``x[i]``, ``x[i] = v``, ``x.at[i].set(v)``, ``.add(v)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from lumus.core.broadcast import broadcasts_to, inverse_order
from lumus.core.composite import call, composite
from lumus.core.dispatch import apply
from lumus.core.dtypes import promote
from lumus.core.index_errors import index_error_of
from lumus.core.kinds import Bool
from lumus.core.mode import MODE
from lumus.core.tensor import Index, Tensor, require_operand
from lumus.core.write import apply_into, check_writable
from lumus.errors import IndexRangeError, ShapeError
from lumus.ops.create.tensor import tensor
from lumus.ops.index.selection import Selection, read, select


@composite("getitem")
def getitem(x: Tensor[Any], index: Index) -> Tensor[Any]:
    """`x[index]`: a view for ints, slices, None and ...; a copy for masks and index tensors."""
    return read(x, select(x, index))


@composite("setitem")
def setitem(x: Tensor[Any], index: Index, value: Any) -> None:
    """`x[index] = value`, in place."""
    functional = "x.at[index].set(value)"
    check_writable("setitem", x, functional, MODE.get())
    updated = None if MODE.get().has_values else _by_mask(x, index, value, "setitem")
    if updated is not None:
        call("copy_", x, updated, spelled="setitem")
        return
    selection = select(x, index)
    values = _values(x, value, selection, "setitem")
    base = selection.view(x)
    if not selection.indices:
        call("copy_", base, values, spelled="setitem")
        return
    moved = base.permute_dims(selection.order)
    try:
        apply_into(
            "index_put",
            moved,
            moved,
            _moved_values(values, selection),
            *selection.indices,
            functional=functional,
            spelled="setitem",
            accumulate=False,
        )
    except IndexRangeError as error:
        raise index_error_of("setitem", selection.sources[error.axis], error) from None


@composite("at_set")
def at_set(x: Tensor[Any], index: Index, value: Any) -> Tensor[Any]:
    """A copy of `x` with `value` at the index."""
    return _updated(x, index, value, accumulate=False)


@composite("at_add")
def at_add(x: Tensor[Any], index: Index, value: Any) -> Tensor[Any]:
    """A copy of `x` with `value` added at the index."""
    return _updated(x, index, value, accumulate=True)


def _updated(x: Tensor[Any], index: Index, value: Any, *, accumulate: bool) -> Tensor[Any]:
    op = "at.add" if accumulate else "at.set"
    updated = _by_mask(x, index, value, op, accumulate=accumulate)
    if updated is not None:
        return updated
    selection = select(x, index)
    values = _values(x, value, selection, op)
    starts, sizes, steps = selection.starts, selection.sizes, selection.steps
    if selection.indices:
        base = selection.view(x)
        moved = base.permute_dims(selection.order)
        try:
            changed = apply(
                "index_put",
                moved,
                _moved_values(values, selection),
                *selection.indices,
                accumulate=accumulate,
            )
        except IndexRangeError as error:
            raise index_error_of(op, selection.sources[error.axis], error) from None
        values = changed.permute_dims(inverse_order(selection.order))
        if sizes == x.shape == values.shape and all(step == 1 for step in steps):
            return cast("Tensor[Any]", values)
        values = values.reshape(sizes)
    else:
        values = values.broadcast_to(selection.shape).reshape(sizes)
        if accumulate:
            spread = apply("unslice", values, shape=x.shape, starts=starts, steps=steps)
            return cast("Tensor[Any]", x + spread)
    return apply("slice_put", x, values, starts=starts, sizes=sizes, steps=steps)


def _by_mask(
    x: Tensor[Any], index: Index, value: Any, op: str, *, accumulate: bool = False
) -> Tensor[Any] | None:
    """A copy of `x` with the same `value` at all places of a mask, which need not be known for it.

    None if the index is another, or if the value differs from place to place.
    """
    mask, axis = _only_mask(x.ndim, index)
    if mask is None or mask.shape != x.shape[axis : axis + mask.ndim]:
        return None
    if isinstance(value, Sequence) or (accumulate and x.dtype.kind == "bool"):
        return None
    before, behind = x.shape[:axis], x.shape[axis + mask.ndim :]
    values = require_operand(x, value, op)
    promote(values.dtype, x.dtype, op)
    if not broadcasts_to(values.shape, (*before, 1, *behind)):
        return None
    values = values.broadcast_to((*before, 1, *behind)).astype(x.dtype)
    values = values.reshape((*before, *(1,) * mask.ndim, *behind))
    mask = mask.reshape((*mask.shape, *(1,) * len(behind)))
    return apply("where", mask, x + values if accumulate else values, x)


def _only_mask(ndim: int, index: Index) -> tuple[Tensor[Bool] | None, int]:
    """The mask of an index of whole axes beside it, and the first axis that it stands on."""
    items: tuple[Any, ...] = index if isinstance(index, tuple) else (index,)
    masks = [
        at
        for at, item in enumerate(items)
        if isinstance(item, Tensor) and item.spec.dtype.kind == "bool" and item.ndim
    ]
    if len(masks) != 1:
        return None, 0
    mask, before, behind = items[masks[0]], items[: masks[0]], items[masks[0] + 1 :]
    gaps = [item for item in (*before, *behind) if item is Ellipsis]
    wholes = [item for item in (*before, *behind) if isinstance(item, slice) and item == _WHOLE]
    is_plain = len(gaps) <= 1 and len(gaps) + len(wholes) == len(items) - 1
    if not is_plain or mask.ndim + len(wholes) > ndim:
        return None, 0
    is_from_behind = any(item is Ellipsis for item in before)
    return mask, ndim - mask.ndim - len(behind) if is_from_behind else len(before)


_WHOLE = slice(None)


def _values(x: Tensor[Any], value: Any, selection: Selection, op: str) -> Tensor[Any]:
    """The values to write as a tensor of x's dtype; raises before anything is written."""
    if isinstance(value, Sequence):
        value = tensor(value, dtype=x.dtype, device=x.device)
    values = require_operand(x, value, op)
    promote(values.dtype, x.dtype, op)
    target = selection.result_shape
    # A write may not change the target's shape; leading axes of length 1 may be left over.
    shape = values.shape
    while len(shape) > len(target) and shape[0] == 1:
        shape = shape[1:]
    if not broadcasts_to(shape, target):
        raise ShapeError(
            f"{op}: values of shape {values.shape} do not broadcast to the selection's shape "
            f"{target}",
            op=op,
        )
    return values.reshape(shape).astype(x.dtype)


def _moved_values(values: Tensor[Any], selection: Selection) -> Tensor[Any]:
    """The values with the picked axes in front, as index_put takes them."""
    in_front = inverse_order(selection.result_order)
    return values.broadcast_to(selection.result_shape).permute_dims(in_front)
