"""Dtypes of results: the array API's table, whatever the order of the operands."""

import warnings
from functools import reduce
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lumus as lm
from lumus.core.dtypes import ALL, INT_RANGE, promote
from lumus.errors import DTypeError, KindError
from tests.properties.strategies import EXAMPLES, FLOATS, INTS, array, check_same

BINARY = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
}
SEEDS = st.integers(0, 2**16)


def test_promotion_is_symmetric_and_idempotent_and_keeps_the_kind():
    for x, y in product(ALL, ALL):
        if x.kind != y.kind:
            with pytest.raises(KindError):
                promote(x, y, "test")
            continue
        wide = promote(x, y, "test")
        assert wide is promote(y, x, "test")
        assert promote(wide, x, "test") is promote(wide, y, "test") is wide
        assert wide.kind == x.kind
        assert wide.itemsize >= max(x.itemsize, y.itemsize)


@pytest.mark.parametrize("kind", [FLOATS, INTS])
def test_promotion_of_three_is_associative(kind):
    for x, y, z in product(kind, kind, kind):
        left = promote(promote(x, y, "test"), z, "test")
        assert left is promote(x, promote(y, z, "test"), "test")


@EXAMPLES
@given(st.sampled_from([FLOATS, INTS]), st.data())
def test_many_operands_give_one_dtype_in_any_order(kind, data):
    dtypes = data.draw(st.lists(st.sampled_from(kind), min_size=2, max_size=4))
    expected = reduce(lambda x, y: promote(x, y, "test"), dtypes)
    for order in permutations([lm.ones((2,), dtype=dtype) for dtype in dtypes]):
        assert lm.concat(order).dtype is expected
        assert lm.stack(order).dtype is expected
        assert reduce(lm.add, order).dtype is expected
        assert reduce(lambda x, y: x @ y.expand_dims(1), order[:2]).dtype is promote(
            order[0].dtype, order[1].dtype, "test"
        )


@EXAMPLES
@given(
    st.sampled_from(sorted(BINARY)),
    st.sampled_from(INTS),
    st.sampled_from(INTS),
    SEEDS,
)
def test_ints_of_any_two_dtypes_compute_as_numpys(name, x_dtype, y_dtype, seed):
    random = np.random.default_rng(seed)
    # Numbers from the whole range, so that results wrap around.
    x, y = (
        random.integers(*INT_RANGE[one.name], 20, endpoint=True, dtype=one.numpy_name)
        for one in (x_dtype, y_dtype)
    )
    check_same(getattr(lm, name)(lm.tensor(x), lm.tensor(y)), BINARY[name](x, y))


@EXAMPLES
@given(
    st.sampled_from(sorted(BINARY)),
    st.sampled_from([lm.float64, lm.float32, lm.float16]),
    st.sampled_from([lm.float64, lm.float32, lm.float16]),
    SEEDS,
)
def test_floats_of_any_two_dtypes_compute_as_numpys(name, x_dtype, y_dtype, seed):
    random = np.random.default_rng(seed)
    x, y = (
        (random.normal(size=20) * 10.0 ** random.integers(-9, 4, 20)).astype(one.numpy_name)
        for one in (x_dtype, y_dtype)
    )
    with np.errstate(over="ignore"):
        expected = BINARY[name](x, y)
    check_same(getattr(lm, name)(lm.tensor(x), lm.tensor(y)), expected)


@EXAMPLES
@given(st.sampled_from(INTS), st.integers(-(2**63) - 5, 2**63 + 5) | st.integers(-300, 300), SEEDS)
def test_a_python_int_takes_the_tensors_dtype_or_is_refused(dtype, number, seed):
    x = array((6,), dtype, seed)
    tensor = lm.tensor(x)
    low, high = INT_RANGE[dtype.name]
    if low <= number <= high:
        check_same(tensor + number, x + number)
        check_same(number - tensor, number - x)
        check_same(tensor.maximum(number), np.maximum(x, number))
        assert (tensor < number).tolist() == (x < number).tolist()
    else:
        for use in (lambda: tensor + number, lambda: number - tensor, lambda: tensor < number):
            with pytest.raises(DTypeError):
                use()


@EXAMPLES
@given(st.sampled_from(FLOATS), st.floats(-1000, 1000, width=16) | st.integers(-100, 100))
def test_a_python_number_takes_a_float_tensors_dtype(dtype, number):
    tensor = lm.tensor([1.0, -2.0, 0.5]).astype(dtype)
    for result in (tensor + number, number * tensor, tensor.maximum(number)):
        assert result.dtype is dtype
    if dtype is not lm.bfloat16:
        check_same(tensor + number, tensor.numpy() + dtype_of(dtype, number))


def dtype_of(dtype: lm.DType, number: float) -> np.generic:
    return np.dtype(dtype.numpy_name).type(number)


@EXAMPLES
@given(st.sampled_from(ALL), st.sampled_from(ALL), SEEDS)
def test_casts_between_any_dtypes_go_as_numpys_where_numpy_defines_them(source, target, seed):
    if lm.bfloat16 in (source, target):
        return
    # Within every dtype's range: what lies outside has tests of its own.
    x = np.abs(array((12,), source, seed))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_same(lm.tensor(x).astype(target), x.astype(target.numpy_name))


@pytest.mark.parametrize(
    "function",
    [lm.maximum, lm.equal, lm.less, lambda x, y: lm.concat([x, y]), lm.matmul],
)
def test_kinds_never_mix(function):
    tensors = [lm.ones((2,), dtype=dtype) for dtype in ALL]
    for x, y in product(tensors, tensors):
        if x.dtype.kind != y.dtype.kind:
            with pytest.raises(KindError):
                function(x, y)
