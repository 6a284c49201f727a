"""Batches: sizes, orders, resuming."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lumus as lm
from lumus.data import Batches
from lumus.errors import ArgumentError, KindError, ShapeError


def rows_of(batches):
    return [batch[0].tolist() for batch in batches]


def order_of(batches):
    return [one for rows in rows_of(batches) for one in rows]


def shuffled(seed, count=1000, batch_size=64, **options):
    generator = lm.random.Generator(seed)
    return Batches(
        lm.arange(count), batch_size=batch_size, shuffle=True, generator=generator, **options
    )


@pytest.mark.parametrize(
    ("count", "drop_last", "sizes"),
    [(10, False, [4, 4, 2]), (10, True, [4, 4]), (3, True, []), (0, False, []), (0, True, []),
     (8, False, [4, 4]), (8, True, [4, 4]), (3, False, [3])],
)  # fmt: skip
@pytest.mark.parametrize("shuffle", [False, True])
def test_sizes_and_length_agree_P3(count, drop_last, sizes, shuffle):
    batches = Batches(lm.arange(count), batch_size=4, shuffle=shuffle, drop_last=drop_last)
    assert [len(rows) for rows in rows_of(batches)] == sizes
    assert len(batches) == len(sizes)


@settings(max_examples=25)
@given(st.integers(0, 40), st.integers(1, 12), st.booleans(), st.booleans())
def test_length_is_the_number_of_batches(count, batch_size, shuffle, drop_last):
    batches = Batches(lm.arange(count), batch_size=batch_size, shuffle=shuffle, drop_last=drop_last)
    rows = rows_of(batches)
    assert len(rows) == len(batches)
    seen = [one for batch in rows for one in batch]
    assert len(set(seen)) == len(seen)
    assert len(seen) == (count - count % batch_size if drop_last else count)
    if not shuffle:
        assert seen == list(range(len(seen)))


def test_shuffle_is_a_permutation_that_the_seed_decides_P7():
    first, again, other = (order_of(shuffled(seed)) for seed in (0, 0, 1))
    assert sorted(first) == sorted(other) == list(range(1000))
    assert first == again != other
    assert first != list(range(1000))


def test_shuffle_is_another_in_each_epoch_P7():
    batches = shuffled(0)
    first, second = order_of(batches), order_of(batches)
    assert sorted(first) == sorted(second)
    assert first != second


@pytest.mark.parametrize("done", [0, 1, 7, 15, 16])
def test_skip_resumes_at_the_same_next_row_P7(done):
    batches = shuffled(5)
    rows_of(batches)
    state = batches.generator.state
    expected = rows_of(batches)
    resumed = shuffled(5)
    resumed.generator.state = state
    assert rows_of(resumed.skip(done)) == expected[done:]
    assert rows_of(resumed) == rows_of(batches)  # and so does the next epoch


def test_order_is_drawn_when_the_iteration_begins():
    batches = shuffled(0)
    before = batches.generator.state
    iterator = iter(batches)
    drawn = batches.generator.state
    assert drawn != before
    list(iterator)
    assert batches.generator.state == drawn


@pytest.mark.parametrize("done", [-1, 17])
def test_skip_of_batches_that_are_not_there_raises_and_draws_nothing(done):
    batches = shuffled(0)
    state = batches.generator.state
    with pytest.raises(ArgumentError, match=rf"cannot skip {done} of 16 batches"):
        batches.skip(done)
    assert batches.generator.state == state


def test_two_iterations_at_once_do_not_disturb_each_other():
    x = lm.arange(6)
    batches = Batches(x, batch_size=2)
    assert [(a.tolist(), b.tolist()) for (a,), (b,) in zip(batches, batches, strict=True)] == [
        ([0, 1], [0, 1]), ([2, 3], [2, 3]), ([4, 5], [4, 5])
    ]  # fmt: skip


def test_tensors_keep_their_rows_together():
    x, y = lm.arange(20).reshape(10, 2), lm.arange(10)
    batches = Batches(x, y, batch_size=3, shuffle=True, generator=lm.random.Generator(2))
    for rows, labels in batches:
        assert [row[0] // 2 for row in rows.tolist()] == labels.tolist()


def test_shuffle_without_a_generator_follows_the_default_one():
    lm.random.seed(4)
    first = rows_of(Batches(lm.arange(50), batch_size=50, shuffle=True))
    lm.random.seed(4)
    assert rows_of(Batches(lm.arange(50), batch_size=50, shuffle=True)) == first


def test_batches_own_their_memory():
    x = lm.arange(4)
    (first,), _ = Batches(x, batch_size=2)
    first[0] = 9
    assert x.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("batch_size", [0, -1, 2.5, "4"])
def test_batch_size_that_is_no_positive_int_raises(batch_size):
    with pytest.raises(ArgumentError, match="batch_size"):
        Batches(lm.arange(4), batch_size=batch_size)


def test_no_tensors_other_objects_and_unequal_lengths_raise():
    with pytest.raises(ArgumentError, match="needs tensors"):
        Batches(batch_size=2)
    with pytest.raises(KindError, match=r"ndarray is no tensor\nhint: lumus.from_numpy"):
        Batches(np.arange(3), batch_size=2)
    with pytest.raises(ShapeError, match=r"same first axis, got shapes \(3,\), \(4, 2\)"):
        Batches(lm.zeros(3), lm.zeros((4, 2)), batch_size=2)
    with pytest.raises(ShapeError, match="same first axis"):
        Batches(lm.zeros(()), batch_size=2)
