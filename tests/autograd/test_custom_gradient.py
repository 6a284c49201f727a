"""Custom ops that are not differentiable, or not twice, and say so."""

from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.errors import (
    ArgumentError,
    GradientError,
)
from lumus.testing import gradcheck
from tests.autograd.custom_ops import leaf, values


def test_op_without_gradient_raises_where_it_would_be_lost() -> None:
    @lm.custom_op
    def step(x):
        return (x > 0.0).astype(x.dtype)

    assert step(values(1.0)).item() == 1.0
    with lm.no_grad():
        assert step(leaf(1.0)).item() == 1.0
    with pytest.raises(GradientError, match=r"step: x requires grad.*\n.*differentiable=False"):
        step(leaf(1.0))


def test_op_declared_without_gradient_cuts_and_says_so() -> None:
    @lm.custom_op(differentiable=False)
    def step(x):
        return (x > 0.0).astype(x.dtype)

    x = leaf(1.0)
    y = step(x)
    assert not y.requires_grad
    with pytest.raises(GradientError, match="by step, which has no gradient: it was declared"):
        y.sum().backward()
    with pytest.raises(ArgumentError, match="cannot have a gradient"):
        step.gradient(lambda grad: grad)


def test_tensor_that_is_no_input_would_lose_its_gradient() -> None:
    w = leaf(2.0)

    @lm.custom_op
    def scaled(x):
        return x * w

    scaled.gradient(lambda grad: grad * w)
    with pytest.raises(GradientError, match="scaled: output depends on a tensor that requires"):
        scaled(values(1.0))
    with lm.no_grad():
        assert scaled(values(1.0)).item() == 2.0


def test_numpy_in_the_gradient_serves_the_first_order_only() -> None:
    @lm.custom_op
    def sine(x):
        return np.sin(x.numpy())

    x = leaf(0.5)

    def slope(**options: Any) -> Any:
        return sine(x).sum().backward(**options)[x]

    sine.gradient(lambda grad, x: grad.numpy() * np.cos(x.numpy()))
    assert slope().item() == pytest.approx(np.cos(0.5))
    with pytest.raises(GradientError, match="numpy") as caught:
        slope(create_graph=True)
    assert "in the gradient function of sine" in caught.value.__notes__[0]
    assert "custom_op with a gradient of its own" in caught.value.__notes__[0]

    refused = (
        (lambda grad, x: np.cos(1.0) * np.ones(1), "returns a NumPy array"),
        (lambda grad, x: grad * lm.from_numpy(np.cos(x.detach().numpy())), "detaches a value at"),
        (lm.no_grad()(lambda grad, x: grad * x.cos()), "switches recording off"),
    )
    for function, what in refused:
        sine.gradient(function)
        slope()
        with pytest.raises(GradientError, match=rf"sine: its gradient function {what}.*twice"):
            slope(create_graph=True)


def test_ops_that_detach_inside_may_be_used_in_a_gradient() -> None:
    @lm.custom_op
    def largest_singular(x):
        return lm.linalg.svdvals(x)[0]

    @largest_singular.gradient
    def _(grad, x):
        u, _, vh = lm.linalg.svd(x, full_matrices=False)
        return grad * u[:, :1] @ vh[:1]

    gradcheck(largest_singular, [lm.tensor([[1.0, 0.3], [0.2, 2.0]], dtype=lm.float64)])


def test_constants_are_constants_in_the_second_derivative() -> None:
    generator = lm.random.Generator(0)

    @lm.custom_op(constants=("mask",))
    def noisy(x):
        mask = lm.random.uniform(x.shape, dtype=x.dtype, generator=generator)
        return x * x * mask, mask

    noisy.gradient(lambda grad, x, mask: grad * 2.0 * x * mask)
    x = leaf(2.0)
    y = noisy(x)
    mask = y.item() / 4.0
    slope = y.sum().backward(create_graph=True)[x]
    assert slope.sum().backward()[x].item() == pytest.approx(2.0 * mask)


def test_bool_intermediate_needs_no_declaration_as_a_constant() -> None:
    @lm.custom_op(intermediates=("positive",))
    def halved(x):
        positive = x > 0.0
        return lm.where(positive, x, x * 0.5), positive

    halved.gradient(lambda grad, positive: lm.where(positive, grad, grad * 0.5))
    gradcheck(lambda x: halved(x) * x, [values(1.0, -2.0)])
