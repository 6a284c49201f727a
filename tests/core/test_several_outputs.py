"""Ops of several outputs: tensors in a tuple, each with its gradient, Int ones beside the graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.core.dispatch import apply
from lumus.core.kernels.elementwise import Elementwise
from lumus.core.kernels.kernel import Kernel
from lumus.core.op import OPS, Needs, Op, Specs, register
from lumus.core.plan import PLANS
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor
from lumus.testing import gradcheck
from tests.core.printing import printing


@record
class PolarRecord(Record):
    """d (cos x, sin x) = grad_sine * cosine - grad_cosine * sine."""

    cosine: Saved[lm.Float]
    sine: Saved[lm.Float]

    def vjp(self, *grads: Tensor[lm.Float] | None) -> tuple[Tensor[lm.Float] | None, ...]:
        by_cosine, by_sine, _ = grads
        total = None
        if by_cosine is not None:
            total = -by_cosine * self.sine.tensor()
        if by_sine is not None:
            part = by_sine * self.cosine.tensor()
            total = part if total is None else total + part
        return (total,)


class Polar(Op):
    """(cos x, sin x, the whole part of x)."""

    name = "polar"

    def infer(self, specs: Specs, attrs: None) -> Specs:
        (x,) = specs
        return (x, x, x.with_dtype(lm.int64))

    def kernel(self, specs: Specs, attrs: None) -> Kernel:
        return Elementwise(
            expression(lambda x: (scalar.cos(x), scalar.sin(x), scalar.cast(x, lm.int64)))
        )

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Any, attrs: None, needs: Needs
    ) -> Record:
        return PolarRecord(saved_output(output[0], 0), saved_output(output[1], 1))


@pytest.fixture(autouse=True)
def polar() -> Iterator[None]:
    register(Polar)
    yield
    del OPS["polar"]
    PLANS.clear()
    lm._native.forget_plans()


ANGLES = [0.25, -1.5, 2.0]


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_outputs_come_as_a_tuple_of_tensors(device: str) -> None:
    x = lm.tensor(ANGLES, dtype=lm.float64, device=device)
    cosine, sine, whole = apply("polar", x)
    np.testing.assert_allclose(cosine.to_device("cpu").numpy(), np.cos(ANGLES))
    np.testing.assert_allclose(sine.to_device("cpu").numpy(), np.sin(ANGLES))
    assert whole.tolist() == [0, -1, 2]
    assert whole.dtype is lm.int64


def test_outputs_of_a_traced_call_come_as_a_tuple() -> None:
    with printing() as printer:
        outputs = apply("polar", lm.tensor(ANGLES))
    assert len(outputs) == 3
    assert printer.names == ["polar"]


@pytest.mark.parametrize("used", [(0,), (1,), (0, 1), (1, 0)])
def test_gradients_of_each_output_add_up_to_second_order(used: tuple[int, ...]) -> None:
    def function(x: Tensor[lm.Float]) -> Tensor[lm.Float]:
        outputs = apply("polar", x)
        return sum((outputs[number] * (number + 2.0) for number in used), start=x * x)

    gradcheck(function, [lm.tensor(ANGLES, dtype=lm.float64)])


def test_gradient_of_one_output_alone() -> None:
    x = lm.tensor(ANGLES, dtype=lm.float64, requires_grad=True)
    _, sine, _ = apply("polar", x)
    np.testing.assert_allclose(sine.sum().backward()[x].numpy(), np.cos(ANGLES))


def test_all_outputs_together_release_the_record_once() -> None:
    x = lm.tensor(ANGLES, dtype=lm.float64, requires_grad=True)
    cosine, sine, _ = apply("polar", x)
    loss = (cosine * 2.0 + sine * 3.0).sum()
    expected = -2.0 * np.sin(ANGLES) + 3.0 * np.cos(ANGLES)
    np.testing.assert_allclose(loss.backward()[x].numpy(), expected)
    with pytest.raises(lm.errors.GraphFreedError, match="polar"):
        sine.sum().backward()


def test_int_output_is_beside_the_graph_and_says_why() -> None:
    x = lm.tensor(ANGLES, requires_grad=True)
    _, _, whole = apply("polar", x)
    assert not whole.requires_grad
    with pytest.raises(lm.errors.GradientError, match=r"made at .* by polar"):
        (whole.astype(lm.float32).sum()).backward()


def test_outputs_made_under_no_grad_are_not_on_a_graph() -> None:
    x = lm.tensor(ANGLES, requires_grad=True)
    with lm.no_grad():
        cosine, _, _ = apply("polar", x)
    with pytest.raises(lm.errors.GradientError, match="no_grad"):
        cosine.sum().backward()


def test_saved_output_overwritten_before_backward_raises() -> None:
    x = lm.tensor(ANGLES, requires_grad=True)
    cosine, sine, _ = apply("polar", x)
    with lm.no_grad():
        cosine.detach().zero_()
    with pytest.raises(lm.errors.SavedTensorMutatedError, match="cosine"):
        sine.sum().backward()


def test_half_gradients_of_an_output_add_up_in_float32() -> None:
    x = lm.zeros((), dtype=lm.float16, requires_grad=True)
    _, sine, _ = apply("polar", x)
    total = sine
    for _ in range(2):
        total = total + sine * 0.0003
    grad = total.backward()[x]
    assert grad.dtype is lm.float16
    assert grad.item() == pytest.approx(1.0006, abs=5e-4)
