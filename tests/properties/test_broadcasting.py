"""Broadcasting and axes: the rules on shapes, and the ops that follow them, are NumPy's."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

import lumus as lm
from lumus.core.broadcast import (
    broadcast_shapes,
    normalize_axes,
    reduced_axes,
    reduced_shape,
)
from lumus.errors import ArgumentError, ShapeError
from tests.properties.strategies import (
    EXAMPLES,
    HELD_BY_NUMPY,
    INTS,
    LAYOUTS,
    array,
    check_same,
    laid_out,
    shapes,
)

NUMERIC = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "less": np.less,
    "equal": np.equal,
}
FOR_BOOLS = {"logical_and": np.logical_and, "logical_or": np.logical_or, "equal": np.equal}
SEEDS = st.integers(0, 2**16)


def fitting(count: int, max_dims: int = 4) -> st.SearchStrategy:
    return mutually_broadcastable_shapes(
        num_shapes=count, min_side=0, max_side=3, max_dims=max_dims
    ).map(lambda found: found.input_shapes)


@EXAMPLES
@given(st.lists(shapes(max_length=3), min_size=1, max_size=4))
@example([(0,), (1,)])
@example([(0,), (2,)])
@example([(), (0, 1), (1, 5)])
def test_broadcast_shapes_of_any_shapes_is_numpys(given_shapes):
    try:
        expected = np.broadcast_shapes(*given_shapes)
    except ValueError:
        with pytest.raises(ShapeError):
            broadcast_shapes("test", *given_shapes)
    else:
        assert broadcast_shapes("test", *given_shapes) == expected


@EXAMPLES
@given(fitting(3))
def test_reduced_axes_lead_back_to_the_operands_shape(given_shapes):
    whole = np.broadcast_shapes(*given_shapes)
    for shape in given_shapes:
        axes = reduced_axes(shape, whole)
        summed = np.ones(whole).sum(axis=axes).reshape(shape)
        assert (summed == math.prod(whole[axis] for axis in axes)).all()


@EXAMPLES
@given(st.data())
def test_normalize_axes_of_any_axes_is_numpys(data):
    shape = data.draw(shapes(max_length=3))
    axis = data.draw(
        st.none() | st.integers(-5, 5) | st.lists(st.integers(-5, 5), max_size=3).map(tuple)
    )
    keepdims = data.draw(st.booleans())
    try:
        given_axes = range(len(shape)) if axis is None else axis
        expected = np.lib.array_utils.normalize_axis_tuple(given_axes, len(shape))
    except ValueError:  # NumPy's AxisError is one
        with pytest.raises(ArgumentError):
            normalize_axes("test", axis, len(shape))
    else:
        axes = normalize_axes("test", axis, len(shape))
        assert axes == tuple(sorted(expected))
        reduced = np.zeros(shape).sum(axis=axes, keepdims=keepdims)
        assert reduced_shape(shape, axes, keepdims) == reduced.shape


@EXAMPLES
@given(st.sampled_from(HELD_BY_NUMPY), fitting(2), st.tuples(LAYOUTS, LAYOUTS), SEEDS, st.data())
def test_binary_ops_broadcast_as_numpys(dtype, given_shapes, layouts, seed, data):
    functions = FOR_BOOLS if dtype is lm.bool_ else NUMERIC
    name = data.draw(st.sampled_from(sorted(functions)))
    x, y = (array(shape, dtype, seed + place) for place, shape in enumerate(given_shapes))
    result = getattr(lm, name)(laid_out(x, layouts[0]), laid_out(y, layouts[1]))
    check_same(result, functions[name](x, y))


@EXAMPLES
@given(fitting(3), st.tuples(LAYOUTS, LAYOUTS, LAYOUTS), SEEDS)
def test_where_broadcasts_its_three_operands_as_numpys(given_shapes, layouts, seed):
    condition = array(given_shapes[0], lm.bool_, seed)
    x, y = (array(shape, lm.float64, seed + 1) for shape in given_shapes[1:])
    result = lm.where(*map(laid_out, (condition, x, y), layouts))
    check_same(result, np.where(condition, x, y))


@EXAMPLES
@given(fitting(2), st.tuples(LAYOUTS, LAYOUTS), SEEDS)
def test_gradients_of_broadcast_operands_are_summed_to_their_shapes(given_shapes, layouts, seed):
    x, y = (
        laid_out(array(shape, lm.float64, seed + place), layouts[place]).requires_grad_()
        for place, shape in enumerate(given_shapes)
    )
    product = x * y
    weights = array(product.shape, lm.float64, seed + 2)
    store = product.backward(lm.tensor(weights))
    for one, other in ((x, y), (y, x)):
        grad = weights * other.detach().numpy()
        axes = reduced_axes(one.shape, product.shape)
        check_same(store[one], grad.sum(axis=axes).reshape(one.shape))


@EXAMPLES
@given(
    st.sampled_from([*INTS, lm.float64, lm.float32]),
    fitting(2, max_dims=2),
    st.tuples(*[st.integers(0, 4)] * 3),
    st.tuples(LAYOUTS, LAYOUTS),
    SEEDS,
)
def test_matmul_broadcasts_its_batches_as_numpys(dtype, batches, lengths, layouts, seed):
    rows, inner, columns = lengths
    x = array((*batches[0], rows, inner), dtype, seed)
    y = array((*batches[1], inner, columns), dtype, seed + 1)
    check_same(lm.matmul(laid_out(x, layouts[0]), laid_out(y, layouts[1])), np.matmul(x, y))


@EXAMPLES
@given(shapes(), LAYOUTS, SEEDS, st.data())
def test_reductions_over_any_axes_are_numpys(shape, layout, seed, data):
    every = range(-len(shape), len(shape))
    axis = data.draw(
        st.none()
        | st.lists(st.sampled_from(every), unique_by=lambda one: one % len(shape)).map(tuple)
        if shape
        else st.none()
    )
    keepdims = data.draw(st.booleans())
    x = array(shape, lm.int64, seed)
    tensor = laid_out(x, layout)
    kept = {"axis": axis, "keepdims": keepdims}
    check_same(tensor.sum(**kept), x.sum(**kept))
    check_same(tensor.prod(**kept), x.prod(**kept))
    check_same((tensor > 0).all(**kept), (x > 0).all(**kept))
    check_same((tensor > 0).any(**kept), (x > 0).any(**kept))
    if x.size:
        check_same(tensor.max(**kept), x.max(**kept))
        check_same(tensor.min(**kept), x.min(**kept))
