"""lumus.grad and lumus.value_and_grad."""

import numpy as np
import pytest

import lumus as lm
from lumus.errors import ArgumentError, GradientError, KindError


def test_value_and_gradient():
    value, slope = lm.value_and_grad(lambda x: (x * x).sum())(lm.tensor([1.0, 3.0]))
    assert value.item() == 10
    assert slope.tolist() == [2.0, 6.0]
    assert not value.requires_grad
    assert not slope.requires_grad


def test_several_arguments():
    def function(x, y, scale=1.0):
        return (x * y * scale).sum()

    x, y = lm.tensor([1.0, 2.0]), lm.tensor([3.0, 4.0])
    assert [one.tolist() for one in lm.grad(function, argnums=(0, 1))(x, y)] == [
        [3.0, 4.0],
        [1.0, 2.0],
    ]
    assert lm.grad(function, argnums=-1)(x, y).tolist() == [1.0, 2.0]
    assert lm.grad(function, argnums=1)(x, y, scale=10.0).tolist() == [10.0, 20.0]
    assert isinstance(lm.grad(function, argnums=(0,))(x, y), tuple)


def test_same_tensor_as_two_arguments():
    x = lm.tensor(3.0)
    first, second = lm.grad(lambda x, y: x * x * y, argnums=(0, 1))(x, x)
    assert (first.item(), second.item()) == (18, 9)


def test_arguments_are_left_as_they_were():
    x = lm.tensor([1.0, 2.0])
    lm.grad(lambda x: (x * x).sum())(x)
    assert not x.requires_grad
    assert x.tolist() == [1.0, 2.0]


def test_argument_that_does_not_matter_has_a_gradient_of_zeros():
    x, y = lm.tensor([1.0, 2.0]), lm.tensor([3.0])
    dx, dy = lm.grad(lambda x, y: (x * 2.0).sum(), argnums=(0, 1))(x, y)
    assert dx.tolist() == [2.0, 2.0]
    assert dy.tolist() == [0.0]
    assert lm.grad(lambda x: lm.tensor(3.0))(x).tolist() == [0.0, 0.0]
    dy.add_(1.0)  # its own memory


def test_nesting_gives_higher_derivatives():
    def cube(x):
        return x**3.0

    x = lm.tensor(2.0, dtype=lm.float64)
    for order, expected in enumerate([8.0, 12.0, 12.0, 6.0, 0.0]):
        function = cube
        for _ in range(order):
            function = lm.grad(function)
        assert function(x).item() == expected


def test_nesting_by_different_arguments():
    def function(x, y):
        return x * x * y**3.0

    x, y = lm.tensor(2.0), lm.tensor(1.0)
    mixed = lm.grad(lambda x, y: lm.grad(function, argnums=1)(x, y), argnums=0)
    assert mixed(x, y).item() == 12


def test_inner_derivative_of_a_captured_variable():
    # d/dx [ x * d/dy (x * y)^2 at y = 3 ] = d/dx 6 x^3
    x = lm.tensor(2.0)
    found = lm.grad(lambda x: x * lm.grad(lambda y: (x * y) ** 2.0)(lm.tensor(3.0)))(x)
    assert found.item() == 72


def test_confusion_of_inner_and_outer_variables_does_not_occur():
    # d/dx [ x * d/dy (x + y) ] = 1: an engine that mixes the levels says 2.
    x = lm.tensor(1.0)
    assert lm.grad(lambda x: x * lm.grad(lambda y: x + y)(lm.tensor(1.0)))(x).item() == 1


def test_gradient_stays_on_the_graph_of_tensors_used_inside():
    w = lm.tensor(3.0, requires_grad=True)
    slope = lm.grad(lambda x: w * x * x)(lm.tensor(2.0))
    assert slope.item() == 12
    store = (w * 0.5 + slope).backward()
    assert store[w].item() == 4.5
    assert len(store) == 1


def test_value_stays_on_the_graph_of_tensors_used_inside():
    w = lm.tensor(3.0, requires_grad=True)
    value, _ = lm.value_and_grad(lambda x: w * x * x)(lm.tensor(2.0))
    assert value.backward()[w].item() == 4


def test_gradient_penalty_reaches_the_parameters_of_a_model():
    model = lm.nn.Sequential(lm.nn.Linear(2, 4), lm.nn.Tanh(), lm.nn.Linear(4, 1))
    x = lm.tensor([[0.3, -0.7]])
    slope = lm.grad(lambda x: model(x).sum())(x)
    store = slope.square().sum().backward()
    weight = model[0].weight
    step = 1e-2
    found = []
    for sign in (1, -1):
        with lm.no_grad():
            weight[0, 0] += sign * step
            found.append(lm.grad(lambda x: model(x).sum())(x).square().sum().item())
            weight[0, 0] -= sign * step
    np.testing.assert_allclose(
        store[weight][0, 0].item(), (found[0] - found[1]) / (2 * step), rtol=2e-2, atol=1e-4
    )


def test_argument_that_requires_grad_links_the_levels():
    x = lm.tensor(2.0, requires_grad=True)
    slope = lm.grad(lambda x: x**3.0)(x)
    assert slope.backward()[x].item() == 12


def test_under_no_grad_nothing_stays_on_a_graph():
    w = lm.tensor(3.0, requires_grad=True)
    with lm.no_grad():
        value, slope = lm.value_and_grad(lambda x: w * x * x)(w)
    assert (value.item(), slope.item()) == (27, 18)
    assert not value.requires_grad
    assert not slope.requires_grad


def test_mode_inside_is_recording_and_restored_after():
    seen = []

    def function(x):
        seen.append(lm.is_grad_enabled())
        return x * x

    with lm.no_grad():
        lm.grad(function)(lm.tensor(1.0))
        assert not lm.is_grad_enabled()
    assert seen == [True]


def test_error_in_the_function_passes_and_the_mode_is_restored():
    def function(x):
        raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"), lm.no_grad():
        lm.grad(function)(lm.tensor(1.0))
    assert lm.is_grad_enabled()


@pytest.mark.parametrize(
    ("function", "argument", "error"),
    [
        (lambda x: x * 2.0, lm.ones((2,)), GradientError),
        (lambda x: x.argmax(), lm.ones((2,)), GradientError),
        (lambda x: 3.0, lm.ones((2,)), GradientError),
        (lambda x: None, lm.ones((2,)), GradientError),
        (lambda x: x.sum(), lm.tensor([1]), KindError),
        (lambda x: x, 2.0, KindError),
    ],
)
def test_what_has_no_gradient_is_refused(function, argument, error):
    with pytest.raises(error, match="grad: "):
        lm.grad(function)(argument)


@pytest.mark.parametrize("argnums", [2, -3, (0, 5)])
def test_argument_that_is_not_there_is_refused(argnums):
    with pytest.raises(ArgumentError, match="no positional argument"):
        lm.grad(lambda x, y: x * y, argnums=argnums)(lm.tensor(1.0), lm.tensor(2.0))


def test_name_and_documentation_of_the_function_are_kept():
    def loss(x):
        """The loss."""
        return x.sum()

    assert lm.grad(loss).__name__ == "loss"
    assert lm.value_and_grad(loss).__doc__ == "The loss."
