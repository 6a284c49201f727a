"""Wherever an int is asked for, what counts as one will do; anything else is told."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lumus as lm
from lumus.errors import ArgumentError, LumusError
from tests.properties.strategies import EXAMPLES

USES = {
    "arange": lambda n: lm.arange(n(7)),
    "broadcast_to": lambda n: lm.ones((1, n(3))).broadcast_to(n(2), n(3)),
    "expand_dims": lambda n: lm.ones((2, 3)).expand_dims(n(1)),
    "eye": lambda n: lm.eye(n(3), n(4)),
    "flip": lambda n: lm.arange(4).flip(n(0)),
    "getitem": lambda n: lm.arange(12).reshape(3, 4)[n(1), n(0) : n(3)],
    "linspace": lambda n: lm.linspace(0, 1, n(5)),
    "narrow": lambda n: lm.arange(7).narrow(n(0), n(1), n(5)),
    "normal": lambda n: lm.random.normal(n(3)),
    "permutation": lambda n: lm.random.permutation(n(3)),
    "permute_dims": lambda n: lm.ones((3,)).permute_dims(n(0)),
    "reshape": lambda n: lm.arange(6).reshape(n(6)),
    "reshape to two": lambda n: lm.arange(6).reshape(n(-1), n(2)),
    "softmax": lambda n: lm.ones((2, 3)).softmax(n(1)),
    "split": lambda n: lm.arange(5).split(n(5))[0],
    "split into given lengths": lambda n: lm.arange(5).split([n(2), n(3)])[1],
    "sum": lambda n: lm.ones((2, 3)).sum(axis=n(1)),
    "take": lambda n: lm.ones((2, 3)).take(n(1), axis=n(1)),
    "zeros": lambda n: lm.zeros((n(3), n(11))),
}


@pytest.mark.parametrize("make", [int, np.int64, np.int8, np.int32])
@pytest.mark.parametrize("name", USES)
def test_numpys_ints_do_what_pythons_do_and_stay_out_of_shapes(name, make):
    result = USES[name](make)
    assert [type(length) for length in result.shape] == [int] * result.ndim
    assert result.spec is USES[name](int).spec


@EXAMPLES
@given(st.lists(st.integers(20, 90), min_size=1, max_size=3))
def test_a_shape_first_met_with_numpys_ints_is_pythons(lengths):
    # Specs are shared by all tensors of a shape: whoever comes first makes it.
    base = lm.zeros((1,) * len(lengths))
    made = base.broadcast_to([np.int64(length) for length in lengths])
    assert repr(made.shape) == repr(tuple(lengths))
    narrowed = made.narrow(0, np.int64(0), np.int64(lengths[0] - 1))
    assert repr(narrowed.shape) == repr((lengths[0] - 1, *lengths[1:]))


@pytest.mark.parametrize("name", sorted(USES.keys() - {"arange"}))
def test_a_float_is_no_int(name):
    with pytest.raises(LumusError):
        USES[name](float)


@pytest.mark.parametrize("count", [0, -1, 2.5, "2", None])
def test_a_number_of_threads_is_a_positive_int(count):
    before = lm.num_threads()
    with pytest.raises(ArgumentError, match="set_num_threads"):
        lm.set_num_threads(count)
    assert lm.num_threads() == before


def test_arange_of_a_float_is_float():
    assert lm.arange(7.0).dtype is lm.float32
    assert lm.arange(0, np.float64(7)).dtype is lm.float32


@pytest.mark.parametrize(
    "mask", [True, np.True_, np.array(True), lm.tensor(True), (True, False), [True, False]]
)
def test_a_truth_value_or_a_mask_of_another_length_picks_nothing(mask):
    x = lm.arange(6)
    for use in (lambda: x[mask,], lambda: x.__setitem__((mask,), 0)):
        with pytest.raises(LumusError):
            use()
    assert x.tolist() == list(range(6))
