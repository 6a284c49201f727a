"""Mistakes in custom ops and in calls of them."""

from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.core.mode import MODE
from lumus.errors import (
    ArgumentError,
    DeviceError,
    DTypeError,
    GradientError,
    KindError,
    ShapeError,
)
from tests.autograd.custom_ops import cube, leaf, plain, polar, select, values
from tests.core.printing import printing


def shaped(result: Any, inputs: int = 1) -> Any:
    """An op of one or two inputs whose gradient function returns `result`."""

    @lm.custom_op
    def one(x):
        return x * 1.0

    @lm.custom_op
    def two(x, y):
        return x * 1.0

    op = one if inputs == 1 else two
    op.gradient(lambda grad: result)
    return op(*[lm.ones((2,), requires_grad=True) for _ in range(inputs)]).sum()


@pytest.mark.parametrize(
    ("result", "error", "text"),
    [
        (None, GradientError, "one: .* returned None as the gradient of x"),
        ((), GradientError, r"one: .* must return one gradient \(of x\), it returned 0"),
        (3.0, GradientError, "one: .* returned float"),
        (
            lm.ones((3,)),
            ShapeError,
            r"returned float32\[3\] as the gradient of x, which is float32\[2\]",
        ),
        (
            lm.ones((2,), dtype=lm.float64),
            DTypeError,
            r"float64\[2\] as .*\n.*astype\(lumus.float32",
        ),
        (lm.ones((2,), dtype=lm.int32), KindError, r"int32\[2\] as the gradient"),
        (lm.ones((2,), device="reference"), DeviceError, "on device reference instead of cpu"),
        (np.ones(3, np.float32), ShapeError, "gradient of x"),
    ],
)
def test_wrong_gradient_is_told_with_the_op(result: Any, error: Any, text: str) -> None:
    loss = shaped(result)
    with pytest.raises(error, match=text):
        loss.backward()


def test_wrong_number_of_gradients_is_told() -> None:
    for result in (lm.ones((2,)), (lm.ones((2,)),) * 3):
        with pytest.raises(GradientError, match=r"two: .* must return 2 gradients \(of x, y\)"):
            shaped(result, inputs=2).backward()


def test_missing_gradient_is_not_taken_for_zero() -> None:
    with pytest.raises(GradientError, match=r"None as the gradient of y.*\n.*zeros_like\(y\)"):
        shaped((lm.ones((2,)), None), inputs=2).backward()


def test_gradient_of_an_int_input_is_refused() -> None:
    @lm.custom_op
    def pick(x, index):
        return x.take(index)

    pick.gradient(lambda grad, index: (lm.zeros((2,)).at[index].add(grad), grad))
    loss = pick(lm.ones((2,), requires_grad=True), lm.tensor([0])).sum()
    with pytest.raises(KindError, match=r"a gradient of index, which is an Int tensor"):
        loss.backward()


def test_writes_to_what_was_handed_are_told() -> None:
    @lm.custom_op
    def grow(x):
        x.add_(1.0)
        return x * 1.0

    with pytest.raises(
        GradientError, match=r"grow: its forward wrote to x .*add_ at .*test_custom"
    ):
        grow(lm.ones((2,)))

    @lm.custom_op
    def same(x):
        return x * 1.0

    same.gradient(lambda grad: grad.multiply_(2.0))
    with pytest.raises(GradientError, match="same: its gradient function wrote to a gradient"):
        same(leaf(1.0)).sum().backward()


@pytest.mark.parametrize(
    ("returned", "error", "text"),
    [
        (3.0, ArgumentError, "bad: its forward must return tensors, output is float"),
        (None, ArgumentError, "output is NoneType"),
        ((lm.ones(()), lm.ones(())), ArgumentError, r"must return 1 \(output\), it returned 2"),
        (lm.ones((), device="reference"), DeviceError, "output is on reference"),
    ],
)
def test_wrong_result_of_a_forward_is_told(returned: Any, error: Any, text: str) -> None:
    @lm.custom_op
    def bad(x):
        return returned

    with pytest.raises(error, match=text):
        bad(lm.ones((2,)))


def test_wrong_calls_are_told() -> None:
    with pytest.raises(ArgumentError, match="cube: expected a tensor, got float"):
        cube(2.0)
    with pytest.raises(TypeError, match="cube: missing a required argument: 'x'"):
        cube()
    with pytest.raises(TypeError, match="cube: got an unexpected keyword argument 'power'"):
        cube(values(1.0), power=2)
    with pytest.raises(ArgumentError, match="polar: frequency cannot be of type list"):
        polar(values(1.0), frequency=[1.0])
    with pytest.raises(ArgumentError, match="polar: frequency is a tensor"):
        polar(values(1.0), frequency=lm.ones(()))
    x = lm.ones((2,), device="reference")
    with pytest.raises(DeviceError, match="select: tensors are on devices"):
        select(lm.tensor([True, True]), x, x, lm.tensor([0]))


def variadic(*x):
    return x


def defaulted(x, y=None):
    return x


def without_inputs(*, size):
    return lm.zeros(size)


def named_output(output):
    return output


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: lm.custom_op(3), "expected a function, got int"),  # type: ignore[call-overload]
        (lambda: lm.custom_op(variadic), r"fixed number of arguments, not \*x"),
        (lambda: lm.custom_op(defaulted), r"y has a default.*\n.*put a \*"),
        (lambda: lm.custom_op(without_inputs), "takes no tensor"),
        (lambda: lm.custom_op(named_output), "'output' is the name of two things"),
        (lambda: lm.custom_op(outputs=())(plain), "at least one output"),
        (lambda: lm.custom_op(outputs=("a b",))(plain), "'a b' cannot be the name"),
        (lambda: lm.custom_op(name="")(plain), "the name must be a text"),
        (lambda: lm.custom_op(differentiable="no")(plain), "differentiable must be True or"),  # type: ignore[call-overload]
        (lambda: lm.custom_op(plain).gradient(3), "must be a function, got int"),  # type: ignore[type-var]
        (lambda: lm.custom_op(plain).gradient(lambda: 0), "must take the gradient of its output"),
        (lambda: lm.custom_op(plain).gradient(lambda x, grad: 0), "under a name of its own"),
        (lambda: lm.custom_op(plain).gradient(lambda *grads: 0), r"declared with \(\*grads\)"),
        (lambda: lm.custom_op(plain).gradient(lambda grad, y: 0), "wants 'y', which is not one of"),
        (lambda: lm.custom_op(plain).gradient(lambda grad, **x: 0), r"wants '\*\*x'"),
    ],
)
def test_wrong_declarations_are_told(make: Any, text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        make()


def test_exceptions_of_the_user_leave_nothing_half_done() -> None:
    fails = {"forward": True, "gradient": True}

    @lm.custom_op
    def double(x):
        if fails["forward"]:
            raise RuntimeError("not today")
        return x * 2.0

    @double.gradient
    def _(grad):
        if fails["gradient"]:
            raise RuntimeError("nor tomorrow")
        return grad * 2.0

    x, mode = leaf(1.0), MODE.get()
    with pytest.raises(RuntimeError, match="not today"), printing():
        double(x)
    fails["forward"] = False
    store = (x * 1.0).sum().backward()
    with pytest.raises(RuntimeError, match="nor tomorrow") as caught:
        double(x).sum().backward(into=store, create_graph=True)
    assert "in the gradient function of double" in caught.value.__notes__[0]
    assert MODE.get() is mode
    assert store[x].item() == 1.0
    x.detach()  # nothing refuses it any more
    fails["gradient"] = False
    assert double(x).sum().backward()[x].item() == 2.0
