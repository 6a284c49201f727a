"""The numerical check finds wrong derivatives of either order, and says where."""

from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.core.dispatch import apply
from lumus.core.kinds import Float
from lumus.core.op import OPS, ElementwiseOp, Needs
from lumus.core.record import Record, Saved, record
from lumus.core.scalar.expressions import expression
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, CheckError
from lumus.testing.gradcheck import gradcheck


def float64(*shape: int) -> Any:
    return lm.tensor(np.random.default_rng(0).uniform(0.5, 2.0, shape))


def test_gradcheck_right_functions_pass_to_third_order() -> None:
    gradcheck(lambda x, y: (x @ y).tanh(), [float64(2, 3), float64(3, 2)], order=3)


def test_gradcheck_several_results_and_other_inputs_pass() -> None:
    indices = lm.tensor([2, 0])
    gradcheck(lambda x, i: [x.take(i), x.sum(), *(x * x).split(1)], [float64(3), indices])


@record
class WrongAtOneElement(Record):
    """d 2x = 2 grad, but for one element."""

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        wrong = np.full(grad.shape, 2.0)
        wrong[1, 2] = 2.5
        return (grad * lm.tensor(wrong),)


class WrongOp(ElementwiseOp):
    name = "wrong"
    scalar = expression(lambda x: 2 * x)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return WrongAtOneElement()


def test_gradcheck_wrong_first_derivative_names_the_element(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(OPS, "wrong", WrongOp())
    with pytest.raises(CheckError, match=r"order 1 by input 1 \(float64\[2, 4\]\)") as error:
        gradcheck(lambda x, y: x * apply("wrong", y), [float64(2, 4), float64(2, 4)])
    assert "worst element [1, 2]" in str(error.value)
    assert (error.value.order, error.value.input) == (1, 1)


@record
class FlatSecondDerivative(Record):
    """d x**2 = 2 x grad, with x cut off its graph."""

    x: Saved[Float]

    def vjp(self, grad: Tensor[Float]) -> tuple[Tensor[Float] | None, ...]:
        return (grad * (2.0 * self.x.tensor().detach()),)


class FlatOp(ElementwiseOp):
    name = "flat"
    scalar = expression(lambda x: x * x)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], attrs: None, needs: Needs
    ) -> Record:
        return FlatSecondDerivative(Saved(inputs[0]))


def test_gradcheck_wrong_second_derivative_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OPS, "flat", FlatOp())
    gradcheck(lambda x: apply("flat", x), [float64(3)], order=1)
    with pytest.raises(CheckError, match="order 2 by input 0"):
        gradcheck(lambda x: apply("flat", x), [float64(3)])


def test_gradcheck_missing_gradient_is_found() -> None:
    with pytest.raises(CheckError, match="analytic 0, numeric"):
        gradcheck(lambda x: x.detach() * 2.0, [float64(2)])


def test_gradcheck_nan_gradient_is_found() -> None:
    with pytest.raises(CheckError, match="analytic nan"):
        gradcheck(lambda x: x * float("nan"), [float64(2)])


def test_gradcheck_float32_input_is_refused() -> None:
    with pytest.raises(ArgumentError, match="input 0 is float32"):
        gradcheck(lambda x: x, [lm.zeros((2,))])
