"""arange and linspace against Python's range and a float64 formula."""

import math

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import lumus as lm
from lumus.core.dtypes import INT_RANGE
from lumus.errors import DTypeError
from tests.properties.strategies import EXAMPLES, INTS, check_same

STEPS = st.integers(-50, 50).filter(bool)
ENDS = st.integers(-300, 300) | st.integers(-(2**70), 2**70)


@EXAMPLES
@given(ENDS, st.integers(-200, 200), STEPS, st.sampled_from(INTS))
@example(2**63 - 3, 3, 1, lm.int64)
@example(-(2**63) + 2, -3, -1, lm.int64)
@example(2**63 - 1, 50, 100, lm.int64)
@example(2**63, 0, 1, lm.int64)
def test_arange_of_ints_is_pythons_range(start, extent, step, dtype):
    expected = range(start, start + extent, step)
    low, high = INT_RANGE[dtype.name]
    if all(low <= one <= high for one in expected):
        found = lm.arange(start, start + extent, step, dtype=dtype)
        assert found.dtype is dtype
        assert found.tolist() == list(expected)
    else:
        with pytest.raises(DTypeError):
            lm.arange(start, start + extent, step, dtype=dtype)


@EXAMPLES
@given(st.integers(-200, 200), st.sampled_from([int, np.int64, np.int8, np.uint8]))
def test_arange_of_one_number_counts_from_zero(stop, make):
    assume(make is int or np.iinfo(make).min <= stop <= np.iinfo(make).max)
    found = lm.arange(make(stop))
    assert found.dtype is lm.int64
    assert found.tolist() == list(range(stop))


@EXAMPLES
@given(ENDS, st.integers(-200, 200), STEPS)
def test_arange_of_ints_in_a_float_dtype_rounds_each_once(start, extent, step):
    found = lm.arange(start, start + extent, step, dtype=lm.float64)
    assert found.tolist() == [float(one) for one in range(start, start + extent, step)]


@EXAMPLES
@given(
    st.floats(-1e6, 1e6, allow_nan=False),
    st.floats(-100, 100, allow_nan=False),
    st.floats(0.25, 10).flatmap(lambda one: st.sampled_from([one, -one])),
    st.sampled_from([lm.float64, lm.float32]),
)
def test_arange_of_floats_is_the_formula_rounded_once(start, extent, step, dtype):
    stop = start + extent
    found = lm.arange(start, stop, step, dtype=dtype)
    count = max(0, math.ceil((stop - start) / step))
    check_same(found, (start + np.arange(count) * step).astype(dtype.numpy_name))
    assert count == len(np.arange(start, stop, step))


@EXAMPLES
@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.integers(0, 50))
def test_linspace_is_numpys_and_ends_exactly(start, stop, count):
    found = lm.linspace(start, stop, count, dtype=lm.float64).numpy()
    expected = np.linspace(start, stop, count)
    scale = max(abs(start), abs(stop))
    np.testing.assert_allclose(found, expected, rtol=0, atol=4e-16 * scale)
    if count:
        assert found[0] == start
    if count > 1:
        assert found[-1] == stop
