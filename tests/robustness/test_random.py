"""Distributions at the ends of what a dtype holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.errors import ArgumentError, DTypeError

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
