"""Reading and writing by any index: what NumPy gives, and gradients to match."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lumus as lm
from lumus.errors import ArgumentError, IndexRangeError, LumusError
from tests.properties.strategies import EXAMPLES, INTS, check_same, shapes

SEEDS = st.integers(0, 2**16)


@dataclass
class Index:
    """One index, as NumPy takes it and as a tensor takes it."""

    of_array: Any
    of_tensor: Any

    def __repr__(self) -> str:
        return repr(self.of_array)


@st.composite
def slices(draw: Any, length: int) -> Index:
    ends = st.none() | st.integers(-length - 2, length + 2)
    steps = st.none() | st.integers(-3, 3).filter(bool)
    one = draw(st.builds(slice, ends, ends, steps))
    return Index(one, one)


@st.composite
def ints(draw: Any, length: int) -> Index:
    one = draw(st.integers(-length, length - 1))
    return Index(one, draw(st.sampled_from([one, np.int16(one), lm.tensor(one)])))


@st.composite
def int_arrays(draw: Any, length: int, picked: tuple[int, ...]) -> Index:
    """Indices of a shape that broadcasts to `picked`, or a list."""
    shape = tuple(1 if draw(st.integers(0, 3)) == 0 else one for one in picked)
    shape = shape[draw(st.integers(0, len(shape))) if draw(st.integers(0, 3)) == 0 else 0 :]
    low = 0 if (dtype := draw(st.sampled_from(INTS))) is lm.uint8 else -length
    seed = draw(SEEDS)
    if not length:
        shape = (*shape[:-1], 0) if shape else (0,)
    random = np.random.default_rng(seed)
    array = random.integers(low, max(length, 1), shape).astype(dtype.numpy_name)
    forms = [lm.tensor(array)]
    if array.ndim:
        # An empty list has no shape but (0,).
        forms += [array, array.tolist()] if array.size or array.ndim == 1 else [array]
    return Index(array.astype(np.int64), draw(st.sampled_from(forms)))


@st.composite
def masks(draw: Any, lengths: tuple[int, ...]) -> Index:
    array = np.random.default_rng(draw(SEEDS)).random(lengths) < draw(
        st.sampled_from([0.0, 0.3, 0.8, 1.0])
    )
    forms = [lm.tensor(array), array]
    return Index(array, draw(st.sampled_from(forms)))


@st.composite
def items_for(
    draw: Any, lengths: tuple[int, ...], picked: tuple[int, ...], with_arrays: bool
) -> list[Index]:
    """Items that stand on axes of these lengths."""
    items: list[Index] = []
    axis = 0
    while axis < len(lengths):
        length = lengths[axis]
        kinds = ["slice", "int"] if length else ["slice"]
        if with_arrays:
            kinds += ["array", "array", "mask"]
        kind = draw(st.sampled_from(kinds))
        rank = 1
        if kind == "slice":
            items.append(draw(slices(length)))
        elif kind == "int":
            items.append(draw(ints(length)))
        elif kind == "array":
            items.append(draw(int_arrays(length, picked)))
        else:
            rank = draw(st.integers(1, min(2, len(lengths) - axis)))
            items.append(draw(masks(lengths[axis : axis + rank])))
        axis += rank
    return items


@st.composite
def indices(draw: Any, shape: tuple[int, ...]) -> Index:
    """An index of a tensor of this shape; index arrays may fail to broadcast together."""
    picked = draw(shapes(max_rank=2, max_length=3))
    with_arrays = draw(st.booleans())
    head = draw(st.integers(0, len(shape)))
    items = draw(items_for(shape[:head], picked, with_arrays))
    if draw(st.booleans()):
        tail = draw(st.integers(head, len(shape)))
        items.append(Index(Ellipsis, Ellipsis))
        items += draw(items_for(shape[tail:], picked, with_arrays))
    for _ in range(draw(st.integers(0, 2))):
        items.insert(draw(st.integers(0, len(items))), Index(None, None))
    if len(items) == 1 and draw(st.booleans()):
        return items[0]
    return Index(tuple(one.of_array for one in items), tuple(one.of_tensor for one in items))


def numbered(shape: tuple[int, ...], dtype: Any = np.int64, start: int = 0) -> Any:
    return np.arange(start, start + math.prod(shape), dtype=dtype).reshape(shape)


def picked_by(a: Any, index: Index) -> Any | None:
    """What NumPy picks; None where it refuses."""
    try:
        return np.asarray(a[index.of_array])
    except (IndexError, ValueError):
        return None


@st.composite
def values_for(draw: Any, shape: tuple[int, ...], start: int) -> Any:
    """Numbered values that broadcast to a shape: the whole, or with some axes repeated."""
    kept = tuple(1 if draw(st.integers(0, 4)) == 0 else one for one in shape)
    dropped = draw(st.integers(0, len(kept))) if draw(st.integers(0, 4)) == 0 else 0
    return numbered(kept[dropped:], start=start)


@EXAMPLES
@given(st.data(), shapes())
def test_getitem_is_numpys(data, shape):
    index = data.draw(indices(shape))
    a = numbered(shape)
    t = lm.tensor(a)
    expected = picked_by(a, index)
    if expected is None:
        with pytest.raises(LumusError):
            t[index.of_tensor]
    else:
        check_same(t[index.of_tensor], expected)


@EXAMPLES
@given(st.data(), shapes())
def test_setitem_is_numpys_and_writes_nothing_else(data, shape):
    index = data.draw(indices(shape))
    a = numbered(shape)
    t = lm.tensor(a)
    expected = picked_by(a, index)
    if expected is None:
        with pytest.raises(LumusError):
            t[index.of_tensor] = 0
    else:
        values = data.draw(values_for(expected.shape, start=1000))
        a[index.of_array] = values
        t[index.of_tensor] = lm.tensor(values)
    check_same(t, a)


@EXAMPLES
@given(st.data(), shapes())
def test_setitem_reaches_through_a_view(data, shape):
    order = data.draw(st.permutations(range(len(shape))))
    a = numbered(shape)
    t = lm.tensor(a)
    seen, view = a.transpose(order), t.permute_dims(tuple(order))
    if shape:
        seen, view = seen[::-2], view[::-2]
    index = data.draw(indices(seen.shape))
    if picked_by(seen, index) is not None:
        seen[index.of_array] = 1000
        view[index.of_tensor] = 1000
    check_same(t, a)


@EXAMPLES
@given(st.data(), shapes())
def test_at_set_is_numpys_assignment_to_a_copy(data, shape):
    index = data.draw(indices(shape))
    a = numbered(shape, np.float64)
    t = lm.tensor(a, requires_grad=True)
    expected = picked_by(a, index)
    if expected is None:
        with pytest.raises(LumusError):
            t.at[index.of_tensor].set(0.0)
        return
    # Every element and every value has its own number: the result tells where each came from.
    numbers = data.draw(values_for(expected.shape, start=a.size)).astype(np.float64)
    values = lm.tensor(numbers, requires_grad=True)
    result = t.at[index.of_tensor].set(values)
    changed = a.copy()
    changed[index.of_array] = numbers
    check_same(result, changed)
    check_same(t, a)
    weights = np.random.default_rng(len(shape)).integers(-9, 10, shape).astype(np.float64)
    store = result.backward(lm.tensor(weights))
    grads = np.zeros(a.size + numbers.size)
    np.add.at(grads, changed.astype(np.int64).ravel(), weights.ravel())
    check_same(store[t], grads[: a.size].reshape(shape))
    check_same(store[values], grads[a.size :].reshape(numbers.shape))


@EXAMPLES
@given(st.data(), shapes())
def test_at_add_is_numpys_add_at_and_its_gradient_is_a_read(data, shape):
    index = data.draw(indices(shape))
    a = numbered(shape, np.float64)
    t = lm.tensor(a, requires_grad=True)
    expected = picked_by(a, index)
    if expected is None:
        with pytest.raises(LumusError):
            t.at[index.of_tensor].add(0.0)
        return
    values = lm.tensor(numbered(expected.shape, np.float64, start=100), requires_grad=True)
    result = t.at[index.of_tensor].add(values)
    changed = a.copy()
    np.add.at(changed, index.of_array, values.detach().numpy())
    check_same(result, changed)
    check_same(t, a)
    weights = np.random.default_rng(len(shape)).integers(-9, 10, shape).astype(np.float64)
    store = result.backward(lm.tensor(weights))
    check_same(store[t], weights)
    check_same(store[values], np.asarray(weights[index.of_array]))


@EXAMPLES
@given(st.data(), shapes())
def test_the_gradient_of_getitem_accumulates_where_elements_came_from(data, shape):
    index = data.draw(indices(shape))
    a = numbered(shape, np.float64)
    expected = picked_by(a, index)
    if expected is None:
        return
    t = lm.tensor(a, requires_grad=True)
    weights = np.random.default_rng(len(shape)).integers(-9, 10, expected.shape)
    grad = t[index.of_tensor].backward(lm.tensor(weights.astype(np.float64)))[t]
    scattered = np.zeros(a.size)
    np.add.at(scattered, expected.astype(np.int64).ravel(), weights.ravel())
    check_same(grad, scattered.reshape(shape))


@EXAMPLES
@given(st.data(), shapes(max_rank=3).filter(bool))
def test_an_index_out_of_range_is_told_and_nothing_is_written(data, shape):
    axis = data.draw(st.integers(0, len(shape) - 1))
    length = shape[axis]
    bad = data.draw(st.integers(length, length + 5) | st.integers(-length - 5, -length - 1))
    form = data.draw(st.sampled_from(["int", "list", "tensor"]))
    good = [] if not length else [0, length - 1, -length]
    listed = [*good, bad]
    item = {"int": bad, "list": listed, "tensor": lm.tensor(listed)}[form]
    index = (*(slice(None),) * axis, item)
    a = numbered(shape)
    t = lm.tensor(a)
    rest = math.prod(one for place, one in enumerate(shape) if place != axis)
    for use in (
        lambda: t[index],
        lambda: t.__setitem__(index, -1),
        lambda: t.at[index].set(-1),
        lambda: t.at[index].add(-1),
    ):
        with pytest.raises(IndexRangeError) as caught:
            use()
        error = caught.value
        assert (error.index, error.bound, error.axis) == (bad, length, axis), rest
    check_same(t, a)


@EXAMPLES
@given(st.data(), shapes(max_rank=3).filter(bool))
def test_take_and_take_along_axis_are_numpys(data, shape):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    length = shape[axis]
    a = numbered(shape)
    t = lm.tensor(a)
    random = np.random.default_rng(data.draw(SEEDS))
    picked = data.draw(shapes(max_rank=2, max_length=3))
    if not length:
        picked = (*picked, 0)
    taken = random.integers(-length, max(length, 1), picked)
    check_same(lm.take(t, lm.tensor(taken), axis=axis), np.take(a, taken, axis=axis))
    along = list(shape)
    along[axis] = data.draw(st.integers(0, 3)) if length else 0
    places = random.integers(-length, max(length, 1), along)
    expected = np.take_along_axis(a, places, axis=axis)
    check_same(lm.take_along_axis(t, lm.tensor(places), axis=axis), expected)
    added = a.copy()
    values = numbered(expected.shape, start=100)
    where = list(np.indices(expected.shape, sparse=True))
    where[axis] = places
    np.add.at(added, tuple(where), values)
    check_same(lm.scatter_add(t, lm.tensor(places), lm.tensor(values), axis=axis), added)


@pytest.mark.parametrize(
    "index",
    [
        (slice(None), [0, 1], ..., 0),
        (slice(None), [0, 1], ..., [1, 0]),
        (slice(None), 0, ..., [0, 1]),
        (slice(None), [0, 1], [1, 0], ...),
        (..., slice(None), [0, 1], 0),
    ],
)
def test_an_ellipsis_that_stands_for_no_axis_still_parts_index_arrays(index):
    a = numbered((3, 2, 2))
    check_same(lm.tensor(a)[index], a[index])
    changed = a.copy()
    changed[index] = [[7], [8]] if a[index].shape == (2, 3) else [7, 8]
    check_same(lm.tensor(a).at[index].set(changed[index].copy()), changed)


@pytest.mark.parametrize("index", [(..., ...), (0, 0, 0), (slice(None, None, 0),)])
def test_an_index_that_no_tensor_has_is_refused(index):
    with pytest.raises((ArgumentError, IndexRangeError)):
        lm.zeros((2, 3))[index]
