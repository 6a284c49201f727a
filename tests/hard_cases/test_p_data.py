"""Batches: sizes and shuffling."""

import pytest

import lumus as lm
from lumus.data import Batches


@pytest.mark.parametrize(
    ("count", "drop_last", "sizes"),
    [
        (10, False, [4, 4, 2]),
        (10, True, [4, 4]),
        (3, True, []),
        (0, False, []),
        (0, True, []),
        (8, False, [4, 4]),
    ],
)
def test_length_of_batches_agrees_with_their_iteration_P3(count, drop_last, sizes):
    batches = Batches(lm.arange(count), batch_size=4, drop_last=drop_last)
    assert [x.shape[0] for (x,) in batches] == sizes
    assert len(batches) == len(sizes)


def order(generator, done=0):
    batches = Batches(lm.arange(1000), batch_size=64, shuffle=True, generator=generator)
    return [index for (x,) in batches.skip(done) for index in x.tolist()]


def test_shuffle_is_a_permutation_by_its_seed_P7():
    first, again, other = (order(lm.random.Generator(seed)) for seed in (0, 0, 1))
    assert sorted(first) == sorted(other) == list(range(1000))
    assert first == again != other
    assert first != list(range(1000))


def test_shuffled_epochs_differ_P7():
    generator = lm.random.Generator(0)
    assert order(generator) != order(generator)


def test_shuffle_resumes_in_the_middle_of_an_epoch_P7():
    generator = lm.random.Generator(0)
    order(generator)
    state = generator.state
    whole = order(generator)
    generator.state = state
    assert order(generator, done=5) == whole[5 * 64 :]
