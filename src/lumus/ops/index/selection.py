"""What an index expression selects: the one reading of ``x[...]`` that getitem, setitem and at
share.

Basic items (ints, slices, None, ...) select a view. Bool masks and Int tensors or lists select by
index tensors, by NumPy's rules: they broadcast together, ints beside them count as index tensors,
and their axes stand where the first of them stood if they are neighbours, otherwise in front.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np

from lumus.core.broadcast import Shape, broadcast_shapes
from lumus.core.composite import call
from lumus.core.construct import made_tensor, new_tensor
from lumus.core.device import Device
from lumus.core.dispatch import apply
from lumus.core.dtypes import int64
from lumus.core.frozen import frozen
from lumus.core.index_errors import index_error_of
from lumus.core.kinds import Int
from lumus.core.spec import spec_of
from lumus.core.tensor import Index, Tensor
from lumus.core.values import require_values
from lumus.errors import ArgumentError, IndexRangeError, KindError, ShapeError
from lumus.ops.shape.slice import view


@frozen
class Selection:
    """A slice of each axis; then, of that view reshaped to `shape`, perhaps index tensors on
    `axes`.

    Without index tensors the selection has shape `shape`. With them the result of indexing has
    their common axes in front, `place` says where those belong. `sources` are the tensor's own axes
    that the index tensors stand on.
    """

    starts: tuple[int, ...]
    sizes: Shape
    steps: tuple[int, ...]
    shape: Shape
    axes: tuple[int, ...] = ()
    indices: tuple[Tensor[Int], ...] = ()
    place: int = 0
    sources: tuple[int, ...] = ()

    def view(self, x: Tensor[Any]) -> Tensor[Any]:
        """The sliced view, with new axes in and int-indexed axes out."""
        return view(x, self.starts, self.sizes, self.steps).reshape(self.shape)

    @property
    def order(self) -> tuple[int, ...]:
        """The axes of the view with the indexed ones in front."""
        rest = (axis for axis in range(len(self.shape)) if axis not in self.axes)
        return (*self.axes, *rest)

    @property
    def picked(self) -> Shape:
        """The common shape of the index tensors."""
        return broadcast_shapes("index", *(one.shape for one in self.indices))

    @property
    def result_order(self) -> tuple[int, ...]:
        """For each axis of the result, which axis it was with the picked axes in front."""
        count = len(self.picked)
        rest = list(range(count, count + len(self.shape) - len(self.axes)))
        return (*rest[: self.place], *range(count), *rest[self.place :])

    @property
    def result_shape(self) -> Shape:
        """The shape of the selection."""
        if not self.indices:
            return self.shape
        kept = [n for axis, n in enumerate(self.shape) if axis not in self.axes]
        return (*kept[: self.place], *self.picked, *kept[self.place :])


def select(x: Tensor[Any], index: Index) -> Selection:
    """Reads an index expression for `x`; raises IndexRangeError, KindError or ArgumentError."""
    basic = _basic(index)
    if basic is not None:
        return _selected_by_basic(x.shape, basic)
    _check_masks(x, index)
    items: list[Any] = []
    for item in index if isinstance(index, tuple) else (index,):
        items.extend(_item(item, x.device))
    return _selected(x.shape, items, x.device)


def _basic(index: Index) -> tuple[Any, ...] | None:
    """An index of plain ints, slices, None and ... alone as a key; None for any other."""
    key: list[Any] = []
    for item in index if index.__class__ is tuple else (index,):
        if item.__class__ is slice:
            ends = (item.start, item.stop, item.step)
            if not _ENDS.issuperset(map(type, ends)):
                return None
            key.append(ends)
        elif item.__class__ is int or item is None or item is Ellipsis:
            key.append(item)
        else:
            return None
    return tuple(key)


_ENDS = {int, type(None)}


@lru_cache(maxsize=4096)
def _selected_by_basic(shape: Shape, key: tuple[Any, ...]) -> Selection:
    items = [slice(*item) if item.__class__ is tuple else item for item in key]
    return _selected(shape, items, None)


def _selected(old: Shape, items: list[Any], device: Device | None) -> Selection:
    """The selection from a tensor of shape `old`, on the device of its index tensors."""
    items = _filled(old, items)
    advanced = any(isinstance(item, Tensor) for item in items)
    starts, sizes, steps = [0] * len(old), list(old), [1] * len(old)
    shape: list[int] = []
    axes: list[int] = []
    sources: list[int] = []
    indices: list[Tensor[Int]] = []
    positions: list[int] = []
    axis = 0
    for position, item in enumerate(items):
        if item is None:
            shape.append(1)
            continue
        if item is Ellipsis:
            continue
        length = old[axis]
        if isinstance(item, slice):
            starts[axis], sizes[axis], steps[axis] = _slice_of(item, length)
            shape.append(sizes[axis])
        elif isinstance(item, Tensor) or advanced:
            one = item if isinstance(item, Tensor) else _scalar_index(item, length, axis, device)
            axes.append(len(shape))
            sources.append(axis)
            indices.append(one)
            positions.append(position)
            shape.append(length)
        else:
            starts[axis], sizes[axis] = _checked(item, length, axis), 1
        axis += 1
    neighbours = bool(positions) and positions[-1] - positions[0] == len(positions) - 1
    place = axes[0] if neighbours else 0
    return Selection(
        tuple(starts),
        tuple(sizes),
        tuple(steps),
        tuple(shape),
        tuple(axes),
        tuple(indices),
        place,
        tuple(sources),
    )


def _filled(shape: Shape, items: list[Any]) -> list[Any]:
    """One item for each axis and each new one: the ellipsis filled in.

    An ellipsis that stands for nothing stays.
    """
    ndim = len(shape)
    consumed = sum(1 for item in items if item is not None and item is not Ellipsis)
    if consumed > ndim:
        raise IndexRangeError(
            f"index: {consumed} {'index' if consumed == 1 else 'indices'} for a tensor of {ndim} "
            f"{'axis' if ndim == 1 else 'axes'}, shape {shape}",
            op="index",
        )
    gaps = [position for position, item in enumerate(items) if item is Ellipsis]
    if len(gaps) > 1:
        raise ArgumentError("index: more than one ... in an index", op="index")
    fill: list[Any] = [slice(None)] * (ndim - consumed)
    if gaps:
        # Where it stands for no axis at all it still parts the index tensors around it, as NumPy's.
        items[gaps[0] : gaps[0] + 1] = fill or [Ellipsis]
    else:
        items.extend(fill)
    return items


def _item(item: Any, device: Device) -> list[Any]:
    if item is None or item is Ellipsis or isinstance(item, slice):
        return [item]
    if isinstance(item, bool | np.bool_):
        raise _truth_error(item)
    if isinstance(item, Tensor):
        return _tensor_items(cast("Tensor[Any]", item))
    if isinstance(item, np.ndarray) or (isinstance(item, Sequence) and not isinstance(item, str)):
        return _tensor_items(call("from_numpy", listed_indices("index", item), device=device))
    try:
        return [operator.index(cast("Any", item))]
    except TypeError:
        raise KindError(
            f"index: {item!r} cannot be an index",
            hint="ints, slices, None, ..., lists, Bool masks and Int tensors can",
            op="index",
        ) from None


def _tensor_items(index: Tensor[Any]) -> list[Any]:
    if index.dtype.kind == "float":
        raise KindError(
            f"index: a Float tensor ({index.dtype.name}) cannot be an index",
            hint="convert it with .astype(lumus.int64), or compare for a mask",
            op="index",
        )
    if index.dtype.kind == "int":
        return [index.astype(int64)]
    if not index.ndim:
        raise _truth_error(index)
    require_values(
        "index",
        "how many elements a mask selects",
        "compute with the mask, lumus.where(mask, x, 0.0), or write by it: x.at[mask].set(0.0)",
    )
    found = np.nonzero(index.device.copy_out(index.data, index.spec))
    return [
        new_tensor(index.device.copy_in(places, spec), spec)
        for places in found
        for spec in (spec_of(places.shape, int64, index.device),)
    ]


def _truth_error(item: Any) -> KindError:
    return KindError(
        f"index: {item!r} is a truth value, not an index",
        hint="use 0 or 1, or a Bool tensor of the tensor's shape as a mask",
        op="index",
    )


def _check_masks(x: Tensor[Any], index: Index) -> None:
    """A mask's shape must be that of the axes it stands on."""
    axis = 0
    items = index if isinstance(index, tuple) else (index,)
    for position, item in enumerate(items):
        if item is Ellipsis:
            rest = items[position + 1 :]
            axis = x.ndim - sum(_rank(one) for one in rest)
            continue
        rank = _rank(item)
        mask = _mask_shape(item)
        if mask is not None and mask != x.shape[axis : axis + rank]:
            raise IndexRangeError(
                f"index: a mask of shape {mask} does not fit "
                + (f"axis {axis}" if rank == 1 else f"axes {axis} to {axis + rank - 1}")
                + f" of shape {x.shape}",
                op="index",
                axis=axis,
            )
        axis += rank


def _mask_shape(item: Any) -> Shape | None:
    if isinstance(item, Tensor):
        return item.shape if item.spec.dtype.kind == "bool" else None
    if isinstance(item, np.ndarray | list | tuple):
        listed = listed_indices("index", item)
        return listed.shape if listed.dtype == np.bool_ else None
    return None


def listed_indices(op: str, values: Any) -> Any:
    """A NumPy array of its own with the indices, or truth values, of a list or an array."""
    try:
        array = np.array(values)
    except ValueError:
        raise ShapeError(
            f"{op}: the lists of indices are ragged", hint="give rows of equal length", op=op
        ) from None
    if array.size == 0 and not isinstance(values, np.ndarray):
        return array.astype(np.int64)
    if array.dtype.kind in "OUS":
        raise KindError(
            f"{op}: {values!r} cannot be an index",
            hint="ints, slices, None, ..., lists, Bool masks and Int tensors can",
            op=op,
        )
    return array


def _rank(item: Any) -> int:
    """How many axes an item stands on."""
    if item is None:
        return 0
    mask = _mask_shape(item)
    return 1 if mask is None else len(mask)


def _slice_of(item: slice, length: int) -> tuple[int, int, int]:
    try:
        start, stop, step = item.indices(length)
    except TypeError:
        raise KindError(
            f"index: the ends and the step of {item!r} must be ints", op="index"
        ) from None
    except ValueError:
        raise ArgumentError("index: a slice cannot have step 0", op="index") from None
    size = len(range(start, stop, step))
    # The step of fewer than two elements does not count, and may be of any size.
    return (start if size else 0, size, step if size > 1 else 1)


def _checked(index: int, length: int, axis: int) -> int:
    if not -length <= index < length:
        raise IndexRangeError(
            f"index: index {index} is out of range for axis {axis} of length {length}",
            op="index",
            index=index,
            bound=length,
            axis=axis,
        )
    return index + length if index < 0 else index


def _scalar_index(index: int, length: int, axis: int, device: Device | None) -> Tensor[Int]:
    assert device is not None
    spec = spec_of((), int64, device)
    return cast("Tensor[Int]", made_tensor(device.full(spec, _checked(index, length, axis)), spec))


def read(x: Tensor[Any], selection: Selection) -> Tensor[Any]:
    """The selected elements: a view, or a copy when there are index tensors."""
    base = selection.view(x)
    if not selection.indices:
        return base
    moved = base.permute_dims(selection.order)
    try:
        picked: Tensor[Any] = apply("index", moved, *selection.indices)
    except IndexRangeError as error:
        raise index_error_of("index", selection.sources[error.axis], error) from None
    return picked.permute_dims(selection.result_order)
