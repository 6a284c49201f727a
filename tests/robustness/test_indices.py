"""Odd indices: those that mean something are taken, the others are told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.errors import ArgumentError, KindError, LumusError, ShapeError


@pytest.mark.parametrize("step", [2**62, 2**70, -(2**62), -(2**70), 10**40])
def test_a_step_of_any_size_selects_one_element(step: int) -> None:
    x = lm.arange(6).reshape(2, 3)
    array = x.numpy()
    assert x[::step].tolist() == array[::step].tolist()
    assert x[:, 1::step].tolist() == array[:, 1::step].tolist()
    for changed in (x.at[::step].set(9), x.at[::step].add(9)):
        assert changed[0 if step > 0 else 1].tolist() != array[0 if step > 0 else 1].tolist()
        assert changed[1 if step > 0 else 0].tolist() == array[1 if step > 0 else 0].tolist()
    x[::step] = 7
    assert x.tolist() == [[7, 7, 7], [3, 4, 5]] or x.tolist() == [[0, 1, 2], [7, 7, 7]]


@pytest.mark.parametrize(
    ("index", "error"),
    [
        ([[1], [1, 0]], ShapeError),
        ([None], KindError),
        (["a"], KindError),
        (np.array(["a"]), KindError),
        (np.array([1, None]), KindError),
        (slice("a"), KindError),
        (slice(0.0, 1.0), KindError),
        (slice(None, None, 0), ArgumentError),
        ([1.0], KindError),
        ([1j], LumusError),
        (np.array([1], dtype=np.uint64), LumusError),
        ({0}, KindError),
        (1j, KindError),
    ],
)
def test_what_is_no_index_is_told(index: Any, error: type[LumusError]) -> None:
    x = lm.ones((2, 3))
    with pytest.raises(error):
        x[index]
    with pytest.raises(error):
        x[..., index]
    with pytest.raises(error):
        x[index] = 1.0
    with pytest.raises(error):
        x.at[index].add(1.0)


@pytest.mark.parametrize("indices", [[[0], [0, 1]], "a", ["a"], [None], [0.5], [True, False]])
def test_take_tells_what_are_no_indices(indices: Any) -> None:
    with pytest.raises(LumusError, match="take: "):
        lm.ones((2, 3)).take(indices)


def test_a_slope_of_negative_zero_is_that_of_zero() -> None:
    x = lm.tensor([-1.0, 2.0])
    for first, second in ((-0.0, 0.0), (0.0, -0.0)):
        signs = [np.signbit(lm.leaky_relu(x, slope).numpy()).tolist() for slope in (first, second)]
        assert signs[0] == signs[1]
