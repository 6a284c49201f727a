"""lumus.custom_op: what users' ops give, and their gradients to any order."""

from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.core.device import device_named
from lumus.errors import (
    CheckError,
    GradientError,
    GraphFreedError,
    MissingGradientError,
)
from lumus.testing import gradcheck
from tests.autograd.custom_ops import cube, leaf, polar, select, values


def test_op_computes_and_differentiates() -> None:
    x = leaf(1.0, -2.0)
    y = cube(x)
    assert y.tolist() == [1.0, -8.0]
    assert y.sum().backward()[x].tolist() == [3.0, 12.0]


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_op_of_lumus_ops_runs_on_every_device(device: str) -> None:
    x = lm.tensor([0.25, -1.5], dtype=lm.float64, device=device, requires_grad=True)
    cosine, sine = polar(x, frequency=2.0)
    store = (cosine * 3.0 + sine).sum().backward()
    angles = 2.0 * np.array([0.25, -1.5])
    expected = 2.0 * (np.cos(angles) - 3.0 * np.sin(angles))
    np.testing.assert_allclose(store[x].to_device("cpu").numpy(), expected)
    assert cosine.device is device_named(device)


def test_numpy_scalar_of_a_0d_tensor_is_a_tensor_again() -> None:
    y = cube(lm.tensor(2.0))
    assert (y.shape, y.dtype, y.item()) == ((), lm.float32, 8.0)


@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        (cube, [values(0.5, -2.0)]),
        (cube, [values(2.0)[0]]),
        (cube, [lm.zeros((0, 3), dtype=lm.float64)]),
        (cube, [values(0.5, 1.0, 1.5, 2.0)[::-2]]),
        (polar, [values(0.25, -1.5, 2.0)]),
        (lambda x: polar(x, frequency=0.5)[0], [values(0.25, -1.5)]),
        (lambda x: polar(x, frequency=0.5)[1], [values(0.25, -1.5)]),
        (
            select,
            [
                lm.tensor([True, False, True]),
                values(1.0, 2.0, 3.0),
                values(-1.0, 0.5, 2.0),
                lm.tensor([2, 0, 2, 1]),
            ],
        ),
    ],
)
def test_gradients_are_right_to_third_order(function: Any, inputs: list[Any]) -> None:
    gradcheck(function, inputs, order=3)


def test_check_finds_a_wrong_gradient_of_either_order() -> None:
    @lm.custom_op
    def square(x):
        return x * x

    square.gradient(lambda grad, x: grad * x)
    with pytest.raises(CheckError, match="order 1"):
        gradcheck(square, [values(2.0)])
    square.gradient(lambda grad, x: grad * 2.0 * lm.tensor(x.tolist(), dtype=lm.float64))
    gradcheck(square, [values(2.0)], order=1)
    with pytest.raises(CheckError, match="order 2"):
        gradcheck(square, [values(2.0)])


def test_gradient_of_one_output_alone_and_of_both() -> None:
    x = leaf(0.5)
    cosine, sine = polar(x)
    assert sine.backward(values(1.0), retain_graph=True)[x].item() == pytest.approx(np.cos(0.5))
    assert cosine.backward(values(1.0))[x].item() == pytest.approx(-np.sin(0.5))


def test_only_the_inputs_that_need_one_have_a_gradient() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    mask, indices = lm.tensor([True, True]), lm.tensor([1])
    store = select(mask, x, y.detach(), indices).sum().backward()
    assert store[x].tolist() == [0.0, 4.0]
    with pytest.raises(MissingGradientError):
        store[y]


def test_int_output_is_beside_the_graph() -> None:
    @lm.custom_op(outputs=("largest", "place"))
    def top(x):
        return x.max(), x.argmax()

    seen = []

    @top.gradient
    def _(by_largest, by_place, x, place):
        seen.append(by_place)
        return lm.zeros_like(x).at[place].add(by_largest)

    x = leaf(1.0, 5.0, 2.0)
    largest, place = top(x)
    assert not place.requires_grad
    assert largest.backward()[x].tolist() == [0.0, 1.0, 0.0]
    assert seen == [None]


def test_several_derivatives_of_functions() -> None:
    x = lm.tensor(2.0, dtype=lm.float64)
    value, slope = lm.value_and_grad(cube)(x)
    assert (value.item(), slope.item(), slope.requires_grad) == (8.0, 12.0, False)
    assert lm.grad(lm.grad(cube))(x).item() == 12.0
    assert lm.grad(lm.grad(lm.grad(cube)))(x).item() == 6.0


def test_graph_is_retained_or_released_as_for_any_op() -> None:
    x = leaf(2.0)
    y, ones = cube(x), values(1.0)
    assert y.backward(ones, retain_graph=True)[x].item() == 12.0
    assert y.backward(ones)[x].item() == 12.0
    with pytest.raises(GraphFreedError, match="cube"):
        y.backward(ones)


def test_second_backward_over_a_created_graph() -> None:
    x = leaf(2.0)
    slope = cube(x).sum().backward(create_graph=True)[x]
    assert slope.sum().backward()[x].item() == 12.0


def test_no_grad_cuts_and_the_store_tells_where() -> None:
    x = leaf(2.0)
    with lm.no_grad():
        y = cube(x)
    assert not y.requires_grad
    with pytest.raises(GradientError, match=r"made under no_grad at .*test_custom.*\(op cube\)"):
        y.sum().backward()


def test_half_precision_keeps_its_dtype() -> None:
    x = lm.tensor([1.0, 2.0], dtype=lm.float16, requires_grad=True)
    y = polar(x)[1]
    assert (y.dtype, y.sum().backward()[x].dtype) == (lm.float16, lm.float16)


def test_nested_custom_ops_make_numpy_gradients_differentiable() -> None:
    @lm.custom_op
    def sine(x):
        return np.sin(x.numpy())

    @lm.custom_op
    def cosine(x):
        return np.cos(x.numpy())

    sine.gradient(lambda grad, x: grad * cosine(x))
    cosine.gradient(lambda grad, x: -(grad * sine(x)))
    gradcheck(sine, [values(0.3, 1.2)], order=3)


def test_custom_op_inside_the_forward_of_another() -> None:
    @lm.custom_op
    def sixth(x):
        y = cube(x)
        assert not y.requires_grad
        return y * y

    sixth.gradient(lambda grad, x: grad * 6.0 * x * x * cube(x))
    gradcheck(sixth, [values(0.7, 1.1)])


def test_derivatives_inside_forward_and_gradient() -> None:
    """The root of y**3 + y = x by Newton's method, whose derivative is 1 / (3 y**2 + 1)."""

    def residual(y):
        return y * y * y + y

    @lm.custom_op
    def root(x):
        y = lm.zeros_like(x)
        for _ in range(30):
            y = y - (residual(y) - x) / lm.grad(lambda y: residual(y).sum())(y)
        return y

    @root.gradient
    def _(grad, output):
        return grad / lm.grad(lambda y: residual(y).sum())(output)

    gradcheck(root, [values(0.5, 2.0, 10.0)])


def test_gradient_is_not_asked_for_where_nothing_arrives() -> None:
    x = leaf(1.0)
    polar(x)
    assert cube(x).sum().backward()[x].item() == 3.0


def test_names_may_be_given_by_keyword_and_statics_have_defaults() -> None:
    @lm.custom_op
    def scaled(x, y, *, by, offset=0.0):
        return x * y * by + offset

    seen = []

    @scaled.gradient
    def _(grad, x, y, *, by, precision=3):
        seen.append((by, precision))
        return grad * y * by, grad * x * by

    x, y = leaf(2.0), leaf(3.0)
    result = scaled(y=y, x=x, by=2)
    assert result.item() == 12.0
    store = result.sum().backward()
    assert (store[x].item(), store[y].item()) == (6.0, 4.0)
    assert seen == [(2, 3)]


def test_statics_that_are_equal_stay_what_they_are() -> None:
    seen = []

    @lm.custom_op
    def noted(x, *, value):
        seen.append(value)
        return x * 1.0

    for value in (1, 1.0, True, 0.0, -0.0):
        noted(lm.ones((2,)), value=value)
    assert [type(one) for one in seen] == [int, float, bool, float, float]
    assert str(seen[-1]) == "-0.0"
