"""Checks of values as steps: which value is told, in any layout and dtype."""

from typing import Any

import numpy as np
import pytest

from lumus import _native
from tests.native.native_arrays import native, to_numpy

DTYPES = ["f4", "f8", "i8", "i4", "u1", "?"]


def run(value: Any, holds: Any) -> Any:
    out = native(np.full(np.shape(value), 7, np.asarray(value).dtype))
    _native.check_step().run([native(value), native(holds)], [out])
    return to_numpy(out)


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_holds_is_the_value(dtype: str) -> None:
    value = np.arange(6).reshape(2, 3).astype(dtype)
    for given in (value, value.T, value[:, ::-1], value[:0], value[1]):
        for holds in (np.ones(given.shape, bool), np.array(True), np.ones(given.shape[-1:], bool)):
            assert run(given, holds).tolist() == given.tolist()


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_first_that_does_not_hold_is_told(dtype: str) -> None:
    value = np.array([[0, 1, 0], [1, 1, 1]]).astype(dtype)
    holds = np.array([[True, True, True], [True, False, False]])
    for given, flags in (
        (value, holds),
        (value.T, holds.T),
        (value, holds[1]),
        (value, holds[:, 1:2]),
    ):
        wrong = np.broadcast_to(~flags, given.shape)
        with pytest.raises(_native.CheckFailed) as caught:
            run(given, flags)
        assert caught.value.args == (given[wrong][0].item(), -1)
        assert type(caught.value.args[0]) is (float if dtype[0] == "f" else int)


def test_values_that_floats_have() -> None:
    for value in (np.inf, -np.inf, 1e300):
        with pytest.raises(_native.CheckFailed) as caught:
            run(np.array(value), np.array(False))
        assert caught.value.args == (value, -1)
    with pytest.raises(_native.CheckFailed, match="nan"):
        run(np.array([np.nan], np.float32), np.array([False]))


def test_of_no_values_none_fails() -> None:
    assert run(np.zeros((0, 2)), np.zeros((2,), bool)).shape == (0, 2)
    assert run(np.zeros((0,)), np.array(False)).shape == (0,)


def test_the_value_may_be_checked_where_it_is() -> None:
    value = native(np.array([1.0, 2.0]))
    _native.check_step().run([value, native(np.array(True))], [value])
    assert to_numpy(value).tolist() == [1.0, 2.0]
