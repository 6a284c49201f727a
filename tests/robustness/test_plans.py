"""Equal is not the same: True, 1 and 1.0 find one plan, which must be right for each."""

from __future__ import annotations

import numpy as np
import pytest

import lumus as lm
from lumus.errors import ArgumentError, ShapeError


def test_a_flag_of_1_does_not_spoil_the_plan_of_True() -> None:
    x = lm.ones((3, 5, 2))
    assert x.sum(axis=0, keepdims=1).shape == (1, 5, 2)
    assert x.sum(axis=0, keepdims=True).shape == (1, 5, 2)
    assert x.argmax(axis=0, keepdims=0).shape == x.argmax(axis=0, keepdims=False).shape


def test_a_float_position_is_refused_and_leaves_the_int_alone() -> None:
    x = lm.arange(11)
    for start in (2.0, np.float32(2)):
        with pytest.raises(ArgumentError, match="narrow: start must be an integer"):
            x.narrow(0, start, 3)
    assert x.narrow(0, 2, 3).tolist() == [2, 3, 4]
    with pytest.raises(ArgumentError):
        x.split(11.0)
    assert len(x.split(11)) == 1


def test_a_truth_value_is_no_axis_and_no_length() -> None:
    with pytest.raises(ArgumentError, match="sum: axis must be an integer, got True"):
        lm.ones((2, 3)).sum(axis=True)
    with pytest.raises(ShapeError, match="zeros: a shape consists of integers"):
        lm.zeros((True, 2))
    assert lm.ones((2, 3)).sum(axis=1).shape == (2,)
