"""Statistics of half precision whose parts overflow it, though the result does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lumus as lm


@pytest.mark.parametrize("dtype", [lm.float16, lm.bfloat16])
def test_variance_of_many_halves_is_not_infinite(dtype: Any) -> None:
    values = np.tile(np.array([-10.0, 10.0], dtype=np.float32), 5000)
    x = lm.from_numpy(values).astype(dtype)
    assert x.var().item() == 100.0
    assert x.std().item() == 10.0
    assert x.var().dtype is dtype


def test_a_large_mean_costs_a_half_no_digits() -> None:
    x = lm.tensor([1000.0, 1001.0, 1002.0, 1004.0], dtype=lm.float16)
    assert x.var().item() == pytest.approx(2.1875, rel=1e-3)


def test_cross_entropy_of_many_rows_is_their_mean() -> None:
    logits = lm.broadcast_to(lm.tensor([[8.0, 0.0]], dtype=lm.float16), (70_000, 2))
    targets = lm.broadcast_to(lm.tensor([1]), (70_000,))
    for options in ({}, {"ignore_index": 0}, {"weight": lm.ones((2,), dtype=lm.float16)}):
        loss = lm.nn.functional.cross_entropy(logits, targets, **options)
        assert loss.item() == 8.0
        assert loss.dtype is lm.float16
