"""The gradients that luma-tensor worked out by hand, and its rows, here."""

import math

import numpy as np
import pytest

import lumus as lm


def leaf(values, dtype=lm.float64):
    return lm.tensor(values, dtype=dtype, requires_grad=True)


def close(actual, expected, rtol=1e-12):
    np.testing.assert_allclose(np.asarray(actual.detach()), expected, rtol=rtol, atol=1e-12)


def test_product_with_itself_summed():
    x = leaf([1.0, -2.0, 3.0])
    close((x * x).sum().backward()[x], [2.0, -4.0, 6.0])


def test_matmul_gradients_are_products_with_the_other_transposed():
    a, b = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([[5.0, 6.0], [7.0, 8.0]])
    grads = (a @ b).sum().backward()
    close(grads[a], [[11.0, 15.0], [11.0, 15.0]])
    close(grads[b], [[4.0, 4.0], [6.0, 6.0]])


def test_broadcast_operand_gets_the_sum_over_what_was_broadcast():
    matrix, row = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), leaf([10.0, 20.0, 30.0])
    grads = (matrix * row).sum().backward()
    close(grads[row], [5.0, 7.0, 9.0])
    close(grads[matrix], [[10.0, 20.0, 30.0]] * 2)
    column = leaf([[1.0], [2.0]])
    close((matrix + column).sum().backward()[column], [[3.0], [3.0]])


@pytest.mark.parametrize(
    ("function", "by_x", "by_c"),
    [
        (lambda x, c: c - x, [-1.0, -1.0], 2.0),
        (lambda x, c: c / x, [-3.0 / 4.0, -3.0 / 16.0], 0.75),
        (lambda x, c: x - c, [1.0, 1.0], -2.0),
        (lambda x, c: x / c, [1 / 3, 1 / 3], -6.0 / 9.0),
    ],
    ids=["c - x", "c / x", "x - c", "x / c"],
)
def test_scalar_on_either_side_is_tracked(function, by_x, by_c):
    x = leaf([2.0, 4.0])
    close(function(x, 3.0).sum().backward()[x], by_x)
    c = leaf(3.0)
    grads = function(x, c).sum().backward()
    close(grads[x], by_x)
    close(grads[c], by_c)


def test_affine_is_a_product_and_a_sum_with_numbers():
    x = leaf([1.0, -2.0])
    y = x * 3.0 + 0.5
    close(y, [3.5, -5.5])
    close(y.sum().backward()[x], [3.0, 3.0])


def test_narrow_puts_its_gradient_in_place():
    x = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    part = x.narrow(1, 1, 2)
    close(part, [[2.0, 3.0], [5.0, 6.0]])
    close((part * part).sum().backward()[x], [[0.0, 4.0, 6.0], [0.0, 10.0, 12.0]])


def test_cat_parts_its_gradient():
    a, b = leaf([[1.0, 2.0]]), leaf([[3.0, 4.0], [5.0, 6.0]])
    weights = lm.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=lm.float64)
    grads = (lm.concat([a, b], axis=0) * weights).sum().backward()
    close(grads[a], [[1.0, 2.0]])
    close(grads[b], [[3.0, 4.0], [5.0, 6.0]])


def test_slice_with_a_step_leaves_the_others_alone():
    x = leaf([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    close(x[1:6:2], [1.0, 3.0, 5.0])
    close((x[1:6:2] * 2.0).sum().backward()[x], [0.0, 2.0, 0.0, 2.0, 0.0, 2.0, 0.0])


def test_cast_between_precisions_is_differentiable():
    x = leaf([1.5, -2.5], dtype=lm.float32)
    y = x.astype(lm.float64).square()
    grad = y.sum().backward()[x]
    assert grad.dtype is lm.float32
    close(grad, [3.0, -5.0])


def test_index_select_reads_twice_and_adds_twice():
    x = leaf([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    picked = x.take(lm.tensor([2, 0, 2]), axis=0)
    close(picked, [[5.0, 6.0], [1.0, 2.0], [5.0, 6.0]])
    close(picked.sum().backward()[x], [[1.0, 1.0], [0.0, 0.0], [2.0, 2.0]])


def test_gather_reads_twice_and_adds_twice():
    x = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    indices = lm.tensor([[0, 0, 2], [1, 1, 1]])
    gathered = x.take_along_axis(indices, axis=1)
    close(gathered, [[1.0, 1.0, 3.0], [5.0, 5.0, 5.0]])
    close(gathered.sum().backward()[x], [[2.0, 0.0, 1.0], [0.0, 3.0, 0.0]])


def test_index_add_and_scatter_add_accumulate_duplicates():
    x, rows = leaf([[0.0, 0.0], [0.0, 0.0]]), leaf([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    y = lm.index_add(x, lm.tensor([1, 1, 0]), rows, axis=0)
    close(y, [[5.0, 6.0], [4.0, 6.0]])
    weights = lm.tensor([[1.0, 10.0], [2.0, 20.0]], dtype=lm.float64)
    close((y * weights).sum().backward()[rows], [[2.0, 20.0], [2.0, 20.0], [1.0, 10.0]])
    flat, values = leaf([0.0, 0.0, 0.0]), leaf([1.0, 2.0, 4.0])
    added = lm.scatter_add(flat, lm.tensor([2, 0, 2]), values, axis=0)
    close(added, [2.0, 0.0, 5.0])
    grads = (added * added).sum().backward()
    close(grads[values], [10.0, 4.0, 10.0])
    close(grads[flat], [4.0, 0.0, 10.0])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax_gradient_is_orthogonal_to_ones(axis):
    x = leaf([[0.0, math.log(3.0)], [math.log(2.0), 0.0]])
    weights = lm.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=lm.float64)
    y = np.exp(np.asarray(x.detach()))
    y = y / y.sum(axis, keepdims=True)
    w = np.asarray(weights)
    close(
        (x.softmax(axis=axis) * weights).sum().backward()[x],
        y * (w - (w * y).sum(axis, keepdims=True)),
    )


def test_where_sends_the_gradient_to_the_chosen_branch():
    x, y = leaf([1.0, 2.0, 3.0]), leaf([10.0, 20.0, 30.0])
    mask = lm.tensor([True, False, True])
    grads = (lm.where(mask, x, y) * lm.tensor([1.0, 2.0, 3.0], dtype=lm.float64)).sum().backward()
    close(grads[x], [1.0, 0.0, 3.0])
    close(grads[y], [0.0, 2.0, 0.0])
    close(lm.where(mask, x, 7.0).sum().backward()[x], [1.0, 0.0, 1.0])
    close(lm.where(mask, 7.0, x).sum().backward()[x], [0.0, 1.0, 0.0])


def test_max_without_ties_goes_to_the_largest_and_with_ties_is_shared():
    x = leaf([[1.0, 5.0, 2.0], [4.0, 4.0, 0.0]])
    close(x.max(axis=1).sum().backward()[x], [[0.0, 1.0, 0.0], [0.5, 0.5, 0.0]])
    close(x.min(axis=0).sum().backward()[x], [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])


def test_variance_gradient_is_the_deviation_scaled():
    x = leaf([1.0, 2.0, 6.0])
    close(x.var().backward()[x], [-4.0 / 3, -2.0 / 3, 6.0 / 3])
    close(x.var(correction=1).backward()[x], [-2.0, -1.0, 3.0])


@pytest.mark.parametrize("point", [-2.0, -0.5, 0.0, 0.5, 3.0])
def test_gelu_in_both_forms(point):
    def normal_cdf(t):
        return 0.5 * (1.0 + math.erf(t / math.sqrt(2.0)))

    x = leaf(point)
    density = math.exp(-0.5 * point * point) / math.sqrt(2.0 * math.pi)
    close(lm.gelu(x), point * normal_cdf(point))
    close(lm.gelu(x).backward()[x], normal_cdf(point) + point * density, rtol=1e-11)
    inner = math.sqrt(2.0 / math.pi) * (point + 0.044715 * point**3)
    slope = math.sqrt(2.0 / math.pi) * (1.0 + 3 * 0.044715 * point**2)
    tanh = math.tanh(inner)
    close(lm.gelu(x, approximate="tanh"), 0.5 * point * (1.0 + tanh))
    close(
        lm.gelu(x, approximate="tanh").backward()[x],
        0.5 * (1.0 + tanh) + 0.5 * point * (1.0 - tanh * tanh) * slope,
        rtol=1e-11,
    )


@pytest.mark.parametrize(
    ("name", "points", "values", "slopes"),
    [
        ("square", [3.0], [9.0], [6.0]),
        ("sqrt", [4.0], [2.0], [0.25]),
        ("reciprocal", [4.0], [0.25], [-1 / 16]),
        ("relu", [-1.0, 0.0, 2.0], [0.0, 0.0, 2.0], [0.0, 0.0, 1.0]),
        ("abs", [-2.0, 0.0, 2.0], [2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]),
        ("sign", [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0], [0.0, 0.0, 0.0]),
        ("floor", [-1.5, 1.5], [-2.0, 1.0], [0.0, 0.0]),
        ("ceil", [-1.5, 1.5], [-1.0, 2.0], [0.0, 0.0]),
        ("round", [0.5, 1.5, 2.4], [0.0, 2.0, 2.0], [0.0, 0.0, 0.0]),
        ("silu", [0.0], [0.0], [0.5]),
        ("sigmoid", [0.0], [0.5], [0.25]),
        ("erf", [0.0], [0.0], [2 / math.sqrt(math.pi)]),
    ],
)
def test_elementwise_row_and_its_slope(name, points, values, slopes):
    x = leaf(points)
    y = getattr(lm, name)(x)
    close(y, values)
    close(y.sum().backward()[x], slopes)


def test_leaky_relu_and_clamp():
    x = leaf([-2.0, 0.5, 3.0])
    close(lm.leaky_relu(x, 0.1).sum().backward()[x], [0.1, 1.0, 1.0])
    close(x.clip(-1.0, 1.0), [-1.0, 0.5, 1.0])
    close(x.clip(-1.0, 1.0).sum().backward()[x], [0.0, 1.0, 0.0])


def test_kinds_keep_apart():
    with pytest.raises(lm.errors.KindError):
        lm.tensor([1.0]) + lm.tensor([1])
    assert (lm.tensor([1.0]) > 0.0).dtype is lm.bool_
    assert lm.tensor([1, 2]).sum().dtype is lm.int64


def test_made_matrices_and_sequences():
    assert lm.eye(2).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert lm.arange(1, 7, 2).tolist() == [1, 3, 5]
    assert lm.linspace(0.0, 1.0, 3).tolist() == [0.0, 0.5, 1.0]
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    close(lm.diag(x).sum().backward()[x], [[1.0, 0.0], [0.0, 1.0]])
    close(lm.tril(x).sum().backward()[x], [[1.0, 0.0], [1.0, 1.0]])
    close(lm.triu(x).sum().backward()[x], [[1.0, 1.0], [0.0, 1.0]])
