"""Distributions at the ends of what a dtype holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.errors import ArgumentError, DTypeError, KindError, ShapeError

LARGEST = {lm.float64: 1.7e308, lm.float32: 3.4e38, lm.float16: 65504.0, lm.bfloat16: 3.3e38}


@pytest.mark.parametrize("dtype", LARGEST)
def test_uniform_over_all_of_a_dtype_is_spread_evenly(dtype: Any) -> None:
    end = LARGEST[dtype]
    generator = lm.random.Generator(1)
    x = lm.random.uniform((4000,), -end, end, dtype=dtype, generator=generator)
    values = x.astype(lm.float64).numpy() / end
    assert (values >= -1).all()
    assert (values < 1).all()
    assert abs(values.mean()) < 0.05
    assert np.histogram(values, bins=4, range=(-1, 1))[0].min() > 900


@pytest.mark.parametrize("dtype", [lm.float32, lm.float16, lm.bfloat16])
def test_parameters_beyond_the_dtype_are_told(dtype: Any) -> None:
    for draw in (
        lambda: lm.random.uniform((3,), 0.0, 1e39, dtype=dtype),
        lambda: lm.random.uniform((3,), -1e39, 0.0, dtype=dtype),
        lambda: lm.random.normal((3,), 0.0, 1e300, dtype=dtype),
        lambda: lm.random.normal((3,), -1e300, 1.0, dtype=dtype),
    ):
        with pytest.raises(DTypeError, match="the largest"):
            draw()


@pytest.mark.parametrize(
    ("draw", "told"),
    [
        (lambda r: r.exponential(3, -1.0), "exponential: scale cannot be negative, got -1.0"),
        (lambda r: r.exponential(3, float("nan")), "exponential: scale must be finite, got nan"),
        (lambda r: r.gamma(3, 0.0), "gamma: concentration must be positive, got 0.0"),
        (lambda r: r.gamma(3, float("inf")), "gamma: concentration must be finite, got inf"),
        (lambda r: r.gamma(3, 1.0, -2.0), "gamma: scale cannot be negative, got -2.0"),
        (
            lambda r: r.gamma(2, lm.tensor([1.0, -1.0])),
            "gamma: the concentrations must be positive",
        ),
        (lambda r: r.bernoulli(3, 1.5), "bernoulli: the probability must be in"),
        (
            lambda r: r.bernoulli(2, lm.tensor([0.5, 1.5])),
            "bernoulli: the probabilities must be in",
        ),
        (
            lambda r: r.multinomial(lm.tensor([1.0, -1.0])),
            "multinomial: the weights must be finite",
        ),
        (
            lambda r: r.multinomial(lm.tensor([1.0, float("nan")])),
            "multinomial: the weights must be",
        ),
        (lambda r: r.multinomial(lm.zeros(3)), "multinomial: fewer than 1 positive weights"),
        (lambda r: r.multinomial(lm.ones(3), 4), "multinomial: fewer than 4 positive weights"),
        (lambda r: r.multinomial(lm.ones(3), -1), "multinomial: num_samples cannot be negative"),
    ],
)
def test_bad_parameters_are_told_and_move_no_stream(draw: Any, told: str) -> None:
    before = lm.random.default_generator.state
    with pytest.raises(ArgumentError, match=told):
        draw(lm.random)
    assert lm.random.default_generator.state == before


def test_shapes_that_parameters_do_not_fit_are_told() -> None:
    for draw in (
        lambda: lm.random.gamma((2, 3), lm.ones(2)),
        lambda: lm.random.gamma(3, lm.ones((2, 3))),
        lambda: lm.random.bernoulli((), lm.ones(3)),
        lambda: lm.random.multinomial(lm.tensor(1.0)),
        lambda: lm.random.multinomial(lm.ones((2, 0))),
    ):
        with pytest.raises(ShapeError):
            draw()
    for wrong in (
        lambda: lm.random.gamma(2, lm.tensor([1, 2])),
        lambda: lm.random.multinomial(lm.tensor([1, 2])),
        lambda: lm.random.exponential(2, dtype=lm.int64),
        lambda: lm.random.gamma(2, 1.0, dtype=lm.bool_),
    ):
        with pytest.raises(KindError):
            wrong()


def test_draws_of_nothing_and_of_extreme_concentrations() -> None:
    assert lm.random.gamma((0, 3), 2.0).shape == (0, 3)
    assert lm.random.exponential((2, 0)).shape == (2, 0)
    assert lm.random.multinomial(lm.ones((0, 3)), 2).shape == (0, 2)
    assert lm.random.multinomial(lm.ones((2, 3)), 0).shape == (2, 0)
    assert lm.random.permutation(0).tolist() == []
    tiny = lm.random.gamma(100, 1e-300, dtype=lm.float64)
    assert tiny.tolist() == [0.0] * 100
    huge = lm.random.gamma(100, 1e300, dtype=lm.float64).numpy() / 1e300
    np.testing.assert_allclose(huge, 1.0, rtol=1e-12)
    weights = lm.tensor([0.0, 1e-300, 0.0, 1e300, 0.0], dtype=lm.float64)
    drawn = lm.random.multinomial(weights, 1000, replacement=True)
    assert set(drawn.tolist()) == {3}


def test_a_drawn_number_says_why_it_has_no_gradient() -> None:
    concentration = lm.tensor([1.0, 2.0], requires_grad=True)
    drawn = lm.random.gamma(2, concentration)
    assert not drawn.requires_grad
    leaf = lm.random.exponential(3, requires_grad=True)
    assert (leaf * 2.0).sum().backward()[leaf].tolist() == [2.0, 2.0, 2.0]


def test_bounds_and_states_that_are_no_numbers_are_told() -> None:
    for low, high in ((float("nan"), 1.0), (0.0, float("inf")), (2.0, 1.0)):
        with pytest.raises(ArgumentError):
            lm.random.uniform((3,), low, high)
    generator = lm.random.Generator(1)
    for state in ((1,), (1, -1), (-1, 0), (1, 2**62), (2**63, 0), (1.5, 0), 3, "ab"):
        with pytest.raises(ArgumentError):
            generator.state = state
    assert generator.state == (1, 0)


def test_a_masked_array_is_refused_as_its_mask_would_be_lost() -> None:
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    for make in (lm.tensor, lm.from_numpy):
        with pytest.raises(ArgumentError, match="masked"):
            make(masked)
    assert lm.tensor(masked.filled(0.0)).tolist() == [1.0, 0.0]
