"""Sizes that do not fit into 64 bits, or into memory, are told and change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.errors import OutOfMemoryError, ShapeError

LONG = lm.ones((1,)).broadcast_to((2**40,))


@pytest.mark.parametrize(
    "make",
    [
        lambda: lm.zeros((2**40, 2**40)),
        lambda: lm.ones((2**63,)),
        lambda: lm.empty((2**100,)),
        lambda: lm.full((0, 2**100), 1.0),
        lambda: lm.zeros((2**40, 0, 2**40)),
        lambda: lm.eye(2**40),
        lambda: lm.diag(lm.ones((1,)), 2**40),
        lambda: lm.arange(10**20, dtype=lm.float64),
        lambda: lm.arange(0, 5, 1e-300),
        lambda: lm.linspace(0, 1, 2**62),
        lambda: lm.ones((1,)).broadcast_to((2**31, 2**31)),
        lambda: lm.random.normal((2**70,)),
        lambda: LONG.expand_dims(1) * LONG,
        lambda: lm.concat([lm.ones((1,)).broadcast_to((2**59,))] * 2),
        lambda: LONG[lm.zeros((2,), dtype=lm.int64)].broadcast_to((2**60, 2)),
        lambda: lm.ones((1,) * 17),
        lambda: lm.ones((1,) * 16).expand_dims(0),
        lambda: lm.tensor(np.ones((1,) * 17)),
        lambda: lm.from_numpy(np.ones((1,) * 17)),
        lambda: lm.stack([lm.ones((1,) * 16)]),
        lambda: lm.ones((1,) * 16)[None],
    ],
)
def test_a_shape_beyond_memory_is_a_shape_error(make: Callable[[], Any]) -> None:
    with pytest.raises(ShapeError, match=r"beyond what memory can address|at most 16 axes"):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: lm.zeros((2**38,)),
        lambda: lm.empty((2**45,)),
        lambda: lm.arange(2**45),
        lambda: lm.linspace(0, 1, 2**45),
        lambda: LONG.copy(),
        lambda: LONG + 1.0,
        lambda: lm.concat([LONG, LONG]),
        lambda: lm.ones((2**20, 1)) @ lm.ones((1, 2**20)),
        lambda: lm.random.uniform((2**40,)),
        lambda: LONG.at[0].set(1.0),
        lambda: LONG.reshape(2**20, 2**20).T.reshape(-1).copy(),
        lambda: lm.tensor(np.broadcast_to(np.float32(1), (2**40,))),
    ],
)
def test_memory_that_there_is_not_is_an_error(make: Callable[[], Any]) -> None:
    before = lm.memory_stats()["live_bytes"]
    with pytest.raises(OutOfMemoryError, match=r"^\w+: no memory for \w+\[.*\], [\d,]+ bytes"):
        make()
    assert lm.memory_stats()["live_bytes"] == before
    assert lm.is_grad_enabled()
