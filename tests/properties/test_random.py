"""Generators: a number depends on the seed and its place in the stream, on nothing else."""

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import lumus as lm
from lumus.core.dtypes import INT_RANGE
from lumus.errors import ArgumentError
from tests.properties.strategies import EXAMPLES, FLOATS, INTS, shapes

SEEDS = st.integers(0, 2**63 - 1)


@st.composite
def draws(draw: Any) -> Any:
    """A function of a shape, a generator and a device that draws from one of the distributions."""
    names = ["uniform", "normal", "exponential", "gamma", "bernoulli", "integers"]
    name = draw(st.sampled_from(names))
    parameters: dict[str, Any] = {}
    if name == "bernoulli":
        parameters["probability"] = draw(st.floats(0, 1))
    elif name == "integers":
        parameters["dtype"] = draw(st.sampled_from(INTS))
        least, most = INT_RANGE[parameters["dtype"].name]
        parameters["low"] = draw(st.integers(least, most))
        parameters["high"] = draw(st.integers(parameters["low"] + 1, most + 1))
    else:
        parameters["dtype"] = draw(st.sampled_from(FLOATS))
    if name == "gamma":
        parameters["concentration"] = draw(st.floats(0.05, 100.0))

    def drawn(shape: Any, generator: Any, device: str = "cpu") -> lm.Tensor[Any]:
        function = getattr(lm.random, name)
        return function(shape, **parameters, generator=generator, device=device)

    return drawn


def bits(tensor: lm.Tensor[Any]) -> bytes:
    """The elements, byte for byte."""
    if tensor.dtype is lm.bfloat16:  # a wider dtype holds every bfloat16 exactly
        tensor = tensor.astype(lm.float32)
    return tensor.numpy().tobytes()


@EXAMPLES
@given(draws(), SEEDS, st.integers(0, 40), st.integers(0, 300))
def test_a_shorter_draw_is_the_beginning_of_a_longer_one(draw, seed, short, more):
    long = draw((short + more,), lm.random.Generator(seed))
    assert bits(draw((short,), lm.random.Generator(seed))) == bits(long[:short].copy())


@EXAMPLES
@given(draws(), SEEDS, shapes())
def test_the_shape_only_arranges_the_numbers(draw, seed, shape):
    flat = draw((math.prod(shape),), lm.random.Generator(seed))
    assert bits(draw(shape, lm.random.Generator(seed))) == bits(flat)


@EXAMPLES
@given(st.lists(st.tuples(draws(), st.integers(0, 50)), min_size=1, max_size=5), SEEDS, st.data())
def test_a_stream_resumes_from_its_state(calls, seed, data):
    generator = lm.random.Generator(seed)
    states, drawn = [], []
    for draw, count in calls:
        states.append(generator.state)
        drawn.append(bits(draw((count,), generator)))
    place = data.draw(st.integers(0, len(calls) - 1))
    resumed = lm.random.Generator(0)
    resumed.state = states[place]
    twins = [resumed, copy.deepcopy(resumed), pickle.loads(pickle.dumps(resumed))]
    for twin in twins:
        assert [bits(draw((count,), twin)) for draw, count in calls[place:]] == drawn[place:]
        assert twin.state == generator.state


@EXAMPLES
@given(st.lists(st.integers(0, 60), min_size=1, max_size=6), SEEDS)
def test_calls_never_draw_the_same_numbers_twice(counts, seed):
    generator = lm.random.Generator(seed)
    drawn = [
        number
        for count in counts
        for number in lm.random.integers((count,), -(2**63), 2**63, generator=generator).tolist()
    ]
    assert len(set(drawn)) == len(drawn)


@settings(EXAMPLES, max_examples=10)
@given(draws(), SEEDS, st.integers(1, 200_000), st.sampled_from([2, 3, 8]))
def test_the_number_of_threads_changes_no_bit(draw, seed, count, threads):
    before = lm.num_threads()
    try:
        lm.set_num_threads(1)
        expected = bits(draw((count,), lm.random.Generator(seed)))
        lm.set_num_threads(threads)
        assert bits(draw((count,), lm.random.Generator(seed))) == expected
    finally:
        lm.set_num_threads(before)


@EXAMPLES
@given(st.sampled_from(INTS), st.data(), SEEDS)
def test_integers_stay_in_their_range_and_reach_both_ends(dtype, data, seed):
    least, most = INT_RANGE[dtype.name]
    low = data.draw(st.integers(least, most))
    high = low + data.draw(st.integers(1, min(4, most + 1 - low)))
    drawn = lm.random.integers((200,), low, high, dtype=dtype, generator=lm.random.Generator(seed))
    assert drawn.dtype is dtype
    assert set(drawn.tolist()) == set(range(low, high))


@EXAMPLES
@given(st.sampled_from(FLOATS), st.integers(-100, 99), st.integers(1, 200), SEEDS)
def test_uniform_stays_between_its_ends(dtype, low, width, seed):
    high = min(low + width, 100)
    drawn = lm.random.uniform((500,), low, high, dtype=dtype, generator=lm.random.Generator(seed))
    assert ((drawn >= float(low)) & (drawn < float(high))).all()


@EXAMPLES
@given(st.integers(0, 200), SEEDS)
def test_permutation_holds_each_number_once(count, seed):
    drawn = lm.random.permutation(count, generator=lm.random.Generator(seed))
    assert sorted(drawn.tolist()) == list(range(count))


@EXAMPLES
@given(draws(), SEEDS, st.integers(0, 40))
def test_every_device_draws_the_same_numbers(draw, seed, count):
    on_cpu, on_reference = lm.random.Generator(seed), lm.random.Generator(seed)
    cpu = draw((count,), on_cpu)
    reference = draw((count,), on_reference, device="reference")
    assert on_cpu.state == on_reference.state
    assert cpu.dtype is reference.dtype
    if cpu.dtype.kind == "float":  # a normal number's last bits are the logarithm's and cosine's
        x, y = (one.astype(lm.float64).numpy() for one in (cpu, reference))
        np.testing.assert_allclose(x, y, rtol=4e-2 if cpu.dtype.itemsize == 2 else 1e-5, atol=1e-6)
    else:
        assert cpu.tolist() == reference.tolist()


@EXAMPLES
@given(st.integers() | st.floats(allow_nan=False))
def test_a_seed_outside_its_range_is_refused(seed):
    if isinstance(seed, int) and 0 <= seed < 2**63:
        assert lm.random.Generator(seed).state == (seed, 0)
    else:
        with pytest.raises(ArgumentError):
            lm.random.Generator(seed)


def test_numbers_look_as_if_drawn_from_their_distribution():
    generator = lm.random.Generator(2024)
    normal = lm.random.normal((200_000,), dtype=lm.float64, generator=generator).numpy()
    uniform = lm.random.uniform((200_000,), dtype=lm.float64, generator=generator).numpy()
    # Five standard errors of each moment: a right generator misses them once in a million seeds.
    for found, expected, error in (
        (normal.mean(), 0.0, 1.0),
        ((normal**2).mean(), 1.0, math.sqrt(2)),
        ((normal**4).mean(), 3.0, math.sqrt(96)),
        (uniform.mean(), 0.5, math.sqrt(1 / 12)),
        ((uniform**2).mean(), 1 / 3, math.sqrt(4 / 45)),
        (np.mean(normal[:-1] * normal[1:]), 0.0, 1.0),
    ):
        assert abs(found - expected) < 5 * error / math.sqrt(200_000)


# Kolmogorov and Smirnov: a right generator falls below this once in a million seeds.
RARE = 1e-6


@pytest.mark.parametrize("dtype", [lm.float64, lm.float32])
@pytest.mark.parametrize(
    ("draw", "wanted"),
    [
        (lambda **kwargs: lm.random.uniform(40_000, **kwargs), scipy.stats.uniform()),
        (lambda **kwargs: lm.random.normal(40_000, 2.0, 3.0, **kwargs), scipy.stats.norm(2, 3)),
        (lambda **kwargs: lm.random.exponential(40_000, **kwargs), scipy.stats.expon()),
        (lambda **kwargs: lm.random.exponential(40_000, 5, **kwargs), scipy.stats.expon(scale=5)),
        *[
            (
                lambda concentration=concentration, **kwargs: lm.random.gamma(
                    40_000, concentration, 2.0, **kwargs
                ),
                scipy.stats.gamma(concentration, scale=2),
            )
            for concentration in (0.1, 0.5, 1.0, 2.5, 30.0, 1e4)
        ],
    ],
)
def test_numbers_follow_their_distribution_function(draw: Any, wanted: Any, dtype: Any) -> None:
    numbers = draw(dtype=dtype, generator=lm.random.Generator(11)).astype(lm.float64).numpy()
    assert scipy.stats.kstest(numbers, wanted.cdf).pvalue > RARE
    error = wanted.std() / math.sqrt(numbers.size)
    assert abs(numbers.mean() - wanted.mean()) < 5 * error


def test_exponential_numbers_keep_their_digits_at_both_ends() -> None:
    numbers = lm.random.exponential(2_000_000, generator=lm.random.Generator(3)).numpy()
    assert 0 < numbers.min() < 1e-5
    assert numbers.max() > 12
    small = np.sort(numbers)[:1000]
    assert len(np.unique(small)) > 990


def test_gamma_and_bernoulli_take_a_parameter_for_each_number() -> None:
    concentrations = lm.tensor([0.5, 3.0, 40.0])
    seeds = [lm.random.Generator(5) for _ in range(4)]
    each = lm.random.gamma((20_000, 3), concentrations, generator=seeds[0]).numpy()
    for place, value in enumerate(concentrations.tolist()):
        wanted = scipy.stats.gamma(value)
        assert scipy.stats.kstest(each[:, place], wanted.cdf).pvalue > RARE
        alone = lm.random.gamma((20_000, 3), value, generator=lm.random.Generator(5)).numpy()
        np.testing.assert_array_equal(each[:, place], alone[:, place])
    chances = lm.tensor([[0.0], [0.25], [1.0]])
    truths = lm.random.bernoulli((3, 40_000), chances, generator=seeds[1]).numpy()
    assert truths.mean(1)[[0, 2]].tolist() == [0.0, 1.0]
    assert abs(truths.mean(1)[1] - 0.25) < 5 * math.sqrt(0.25 * 0.75 / 40_000)
    same = lm.random.bernoulli((3, 40_000), 0.25, generator=seeds[2]).numpy()
    np.testing.assert_array_equal(truths[1], same[1])


@pytest.mark.parametrize("replacement", [True, False])
def test_multinomial_draws_in_proportion(replacement: bool) -> None:
    weights = lm.tensor([1.0, 0.0, 2.0, 5.0]).broadcast_to((20_000, 4))
    generator = lm.random.Generator(9)
    drawn = lm.random.multinomial(weights, 2, replacement=replacement, generator=generator).numpy()
    p = np.array([1, 0, 2, 5]) / 8
    pairs = np.outer(p, p)
    if not replacement:  # the second of what the first leaves
        pairs = np.array([[0 if i == j else p[i] * p[j] / (1 - p[i]) for j in range(4)]
                          for i in range(4)])  # fmt: skip
    found = np.zeros((4, 4))
    np.add.at(found, (drawn[:, 0], drawn[:, 1]), 1)
    assert found[pairs == 0].sum() == 0
    possible = pairs > 0
    chosen = scipy.stats.chisquare(found[possible], pairs[possible] * 20_000)
    assert chosen.pvalue > RARE


@EXAMPLES
@given(st.lists(st.floats(0, 10), min_size=1, max_size=8), SEEDS, st.data())
def test_multinomial_without_replacement_never_repeats(weights, seed, data):
    most = sum(one > 0 for one in weights)
    if not most:
        return
    count = data.draw(st.integers(1, most))
    for device in ("cpu", "reference"):
        drawn = lm.random.multinomial(
            lm.tensor([weights, weights], dtype=lm.float64, device=device),
            count,
            generator=lm.random.Generator(seed),
        )
        rows = drawn.tolist()
        assert all(len(set(row)) == count and all(weights[i] > 0 for i in row) for row in rows)
        if device == "cpu":
            on_cpu = rows
    assert rows == on_cpu
