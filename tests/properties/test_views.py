"""Chains of views: the elements, the sharing of memory and the gradients that NumPy's chains have.

The base holds the numbers 0, 1, 2, ..., so that the elements of a view tell where each came from.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lumus as lm
from lumus.errors import ReadOnlyError, SavedTensorMutatedError
from tests.properties.strategies import EXAMPLES, check_same, shapes

LARGEST = 400


@dataclass
class Step:
    """One view, of a NumPy array and of a tensor."""

    text: str
    of_array: Callable[[Any], Any]
    of_tensor: Callable[[lm.Tensor[Any]], lm.Tensor[Any]]

    def __repr__(self) -> str:
        return self.text


@st.composite
def factors(draw: Any, size: int) -> tuple[int, ...]:
    """A shape of so many elements."""
    lengths = []
    rest = size
    for _ in range(draw(st.integers(0, 3))):
        divisors = [d for d in range(1, rest + 1) if rest % d == 0] if rest else [0, 1, 2]
        lengths.append(draw(st.sampled_from(divisors)))
        rest = rest // lengths[-1] if lengths[-1] else 0
    if rest != 1 or (size and draw(st.booleans())):
        lengths.insert(draw(st.integers(0, len(lengths))), rest)
    return tuple(lengths)


def any_slice(length: int) -> st.SearchStrategy[slice]:
    ends = st.none() | st.integers(-length - 2, length + 2)
    steps = st.none() | st.sampled_from([1, -1, 2, -2, 3, -3])
    return st.builds(slice, ends, ends, steps)


@st.composite
def steps(draw: Any, shape: tuple[int, ...]) -> Step:
    """A view of an array of this shape."""
    rank = len(shape)
    names = ["reshape", "expand_dims", "flip", "broadcast_to"]
    if rank:
        names += ["permute_dims", "slices", "narrow", "squeeze"]
    name = draw(st.sampled_from(names))
    if name == "reshape":
        new = draw(factors(math.prod(shape)))
        return Step(f"reshape{new}", lambda a: a.reshape(new), lambda t: t.reshape(new))
    if name == "expand_dims":
        axis = draw(st.integers(-rank - 1, rank))
        return Step(
            f"expand_dims({axis})",
            lambda a: np.expand_dims(a, axis),
            lambda t: t.expand_dims(axis),
        )
    if name == "flip":
        axes = tuple(draw(st.sets(st.integers(0, rank - 1)))) if rank else ()
        turned = tuple(slice(None, None, -1 if axis in axes else 1) for axis in range(rank))
        # With the ellipsis NumPy, too, gives a 0-d array and no scalar.
        return Step(f"flip{axes}", lambda a: a[(*turned, ...)], lambda t: t.flip(axes))
    if name == "broadcast_to":
        new = tuple(
            draw(st.integers(0, 3)) if length == 1 and draw(st.booleans()) else length
            for length in shape
        )
        if draw(st.booleans()):
            new = (draw(st.integers(0, 2)), *new)
        return Step(
            f"broadcast_to{new}",
            lambda a: np.broadcast_to(a, new),
            lambda t: t.broadcast_to(new),
        )
    if name == "permute_dims":
        order = tuple(draw(st.permutations(range(rank))))
        return Step(
            f"permute_dims{order}", lambda a: a.transpose(order), lambda t: t.permute_dims(order)
        )
    if name == "slices":
        index = tuple(
            draw(any_slice(length) | st.integers(-length, length - 1))
            if length
            else draw(any_slice(0))
            for length in shape
        )
        return Step(f"{index}", lambda a: a[(*index, ...)], lambda t: t[index])
    axis = draw(st.integers(0, rank - 1))
    if name == "narrow":
        start = draw(st.integers(0, shape[axis]))
        length = draw(st.integers(0, shape[axis] - start))
        before = (slice(None),) * axis
        return Step(
            f"narrow({axis}, {start}, {length})",
            lambda a: a[(*before, slice(start, start + length))],
            lambda t: t.narrow(axis, start, length),
        )
    ones = tuple(place for place, length in enumerate(shape) if length == 1)
    return Step(f"squeeze{ones}", lambda a: a.squeeze(ones), lambda t: t.squeeze(ones))


@st.composite
def chains(draw: Any) -> tuple[tuple[int, ...], list[Step]]:
    """The shape of a base, and views one after the other."""
    shape = draw(shapes(max_rank=3))
    made: list[Step] = []
    model = np.arange(math.prod(shape)).reshape(shape)
    for _ in range(draw(st.integers(1, 6))):
        step = draw(steps(model.shape))
        if math.prod(step.of_array(model).shape) > LARGEST or step.of_array(model).ndim > 6:
            continue
        model = step.of_array(model)
        made.append(step)
    return shape, made


def numbered(shape: tuple[int, ...], dtype: lm.DType[Any]) -> tuple[Any, lm.Tensor[Any]]:
    """0, 1, 2, ... as an array and as a tensor, with memory of their own."""
    values = np.arange(math.prod(shape), dtype=dtype.numpy_name).reshape(shape).copy()
    return values, lm.tensor(values)


@EXAMPLES
@given(chains(), st.sampled_from([lm.float64, lm.float32, lm.int64, lm.uint8]))
def test_a_chain_of_views_has_numpys_elements_and_shares_what_numpy_shares(chain, dtype):
    shape, made = chain
    a, t = numbered(shape, dtype)
    array, tensor = a, t
    for step in made:
        array, tensor = step.of_array(array), step.of_tensor(tensor)
        check_same(tensor, array)
        assert np.shares_memory(tensor.numpy(), t.numpy()) == np.shares_memory(array, a), step


@EXAMPLES
@given(chains())
def test_a_write_through_a_chain_of_views_is_seen_in_the_base_and_nowhere_else(chain):
    shape, made = chain
    a, t = numbered(shape, lm.int64)
    array, tensor = a, t
    for step in made:
        array, tensor = step.of_array(array), step.of_tensor(tensor)
    shared = np.shares_memory(array, a)
    places = np.array(array)
    written = -1 - np.arange(array.size).reshape(array.shape)
    expected = a.copy()
    if len(set(places.ravel())) < places.size:
        # Either the repeated elements are still one in memory, or a reshape has copied them.
        try:
            tensor[...] = lm.tensor(written)
        except ReadOnlyError:
            assert tensor.tolist() == places.tolist()
        else:
            assert not shared
            check_same(tensor, written)
    else:
        tensor[...] = lm.tensor(written)
        check_same(tensor, written)
        if shared:
            expected.flat[places.ravel()] = written.ravel()
    check_same(t, expected)


@EXAMPLES
@given(chains())
def test_a_write_to_the_base_is_seen_through_the_views_that_share_it(chain):
    shape, made = chain
    a, t = numbered(shape, lm.int64)
    arrays, tensors = [a], [t]
    for step in made:
        arrays.append(step.of_array(arrays[-1]))
        tensors.append(step.of_tensor(tensors[-1]))
    a += 1000
    t.add_(1000)
    for array, tensor in zip(arrays, tensors, strict=True):
        check_same(tensor, array)


@EXAMPLES
@given(chains(), st.integers(0, 2**16))
def test_the_gradient_of_a_chain_of_views_is_scattered_to_where_elements_came_from(chain, seed):
    shape, made = chain
    array, t = numbered(shape, lm.float64)
    t.requires_grad_()
    tensor = t * 1.0  # so that an empty chain, too, is on the graph
    for step in made:
        array, tensor = step.of_array(array), step.of_tensor(tensor)
    weights = np.random.default_rng(seed).integers(-9, 10, array.shape).astype(np.float64)
    grad = tensor.backward(lm.tensor(weights))[t]
    places = np.array(array).astype(np.int64).ravel()
    expected = np.zeros(math.prod(shape))
    np.add.at(expected, places, weights.ravel())
    check_same(grad, expected.reshape(shape))


@pytest.mark.parametrize("writer", [lambda t: t.add_(1), lambda t: t.zero_(), lambda t: t.fill_(3)])
def test_a_repeated_element_is_writable_again_once_only_one_is_left(writer):
    base = lm.tensor([5, 6])
    repeated = base.expand_dims(0).broadcast_to(3, 2)
    with pytest.raises(ReadOnlyError):
        writer(repeated)
    assert base.tolist() == [5, 6]
    writer(repeated[1])
    assert base.tolist() == writer(lm.tensor([5, 6])).tolist()


@st.composite
def pairs_of_chains(draw: Any) -> tuple[tuple[int, ...], list[Step], list[Step]]:
    """The shape of a base, and two chains of views of it."""
    shape = draw(shapes(max_rank=3).filter(math.prod))
    found = []
    for _ in range(2):
        made: list[Step] = []
        model = np.arange(math.prod(shape)).reshape(shape)
        for _ in range(draw(st.integers(0, 3))):
            step = draw(steps(model.shape))
            following = step.of_array(model)
            if following.size <= LARGEST and following.ndim <= 6:
                model = following
                made.append(step)
        found.append(made)
    return shape, found[0], found[1]


@EXAMPLES
@given(pairs_of_chains())
def test_a_write_to_what_backward_needs_is_told_and_no_other_write_is(chains_of_base):
    shape, read, written = chains_of_base
    a, t = numbered(shape, lm.float64)
    reader, writer = t, t
    seen, target = a, a
    for step in read:
        seen, reader = step.of_array(seen), step.of_tensor(reader)
    for step in written:
        target, writer = step.of_array(target), step.of_tensor(writer)
    needed = set(seen.ravel()) if np.shares_memory(seen, a) else set()
    changed = set(target.ravel()) if np.shares_memory(target, a) else set()
    w = lm.ones(seen.shape, dtype=lm.float64, requires_grad=True)
    product = w * reader
    expected = np.array(seen)
    try:
        writer.add_(0.5)
    except ReadOnlyError:
        changed = set()
    try:
        grad = product.backward(lm.ones(seen.shape, dtype=lm.float64))[w]
    except SavedTensorMutatedError:
        # Regions are compared, so a write between the elements that are needed may be told as well.
        assert needed
        assert changed
        assert min(needed) <= max(changed)
        assert min(changed) <= max(needed)
    else:
        assert not needed & changed
        check_same(grad, expected)
