"""Custom ops as one op for an interpreter."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.core.plan import Plan
from lumus.errors import (
    ArgumentError,
    ShapeError,
)
from tests.autograd.custom_ops import cube, leaf, plain, polar, values
from tests.core.printing import printing


@contextmanager
def valueless() -> Iterator[list[str]]:
    """Ops inside run through an interpreter that says of itself that it has no values."""
    with printing() as printer:
        printer.has_values = False
        yield printer.lines


@pytest.mark.parametrize("tracing", [printing, valueless])
def test_forward_runs_once_where_there_are_values(tracing: Any) -> None:
    seen = []

    @lm.custom_op
    def noted(x):
        seen.append(x.tolist())
        return x * 2.0

    with tracing():
        assert noted(values(3.0)).tolist() == [6.0]
    assert seen == ([[3.0]] if tracing is printing else [[1.0], [3.0]])


def test_hunt_for_values_that_are_not_finite_names_the_op() -> None:
    @lm.custom_op(intermediates=("mask",))
    def root(x):
        return x.sqrt(), lm.full(x.shape, -np.inf, dtype=x.dtype)

    root.gradient(lambda grad, output: grad / output / 2.0)
    with lm.inspect.check_finite():
        root(values(4.0))
        with pytest.raises(lm.errors.NonFiniteError, match=r"root: .* nan"):
            root(values(-1.0))
        y = root(leaf(0.0))
        with pytest.raises(lm.errors.NonFiniteError, match="root"):
            y.sum().backward()
    with lm.inspect.check_finite(allow=[root]):
        root(leaf(0.0)).sum().backward()


def test_traced_call_is_one_op_and_its_gradient_is_traced() -> None:
    x = leaf(1.0, 2.0)
    with printing() as printer:
        y = polar(x, frequency=2.0)[1]
    assert printer.lines == ["polar(float64[2]) -> float64[2], float64[2]"]
    with printing() as printer:
        grad = y.backward(values(1.0, 1.0))[x]
    assert "multiply" in printer.names
    assert set(printer.names).isdisjoint({"cos", "sin", "polar"})
    np.testing.assert_allclose(grad.numpy(), 2.0 * np.cos([2.0, 4.0]))


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_op_offers_name_specs_and_kernel_to_a_compiler(device: str) -> None:
    x = lm.tensor([1.0, 2.0], dtype=lm.float64, device=device)
    assert (cube.name, cube.infer((x.spec,), None)) == ("cube", (x.spec,))
    run = x.device.prepare(cube.kernel((x.spec,), None), (x.spec,), (x.spec,))
    np.testing.assert_array_equal(np.asarray(run(x.data)), [1.0, 8.0])


def test_declared_specs_are_what_tracing_sees_and_eager_is_held_to() -> None:
    runs = []

    def infer(x, *, times):
        return x.with_shape((x.shape[0] * times,))

    @lm.custom_op(infer=infer, differentiable=False)
    def tiled(x, *, times):
        runs.append(times)
        return lm.concat([x] * times if times < 4 else [x])

    x = lm.ones((2,))
    attrs = tiled.attrs(times=3)
    assert tiled.infer((x.spec,), attrs) == (x.spec.with_shape((6,)),)
    assert runs == []
    with valueless() as traced:
        assert tiled(x, times=3).shape == (6,)
    assert traced == ["tiled(float32[2]) -> float32[6]"]
    assert runs == [3]
    text = r"tiled: .* returned float32\[2\] as output, infer said float32\[8\]"
    with pytest.raises(ShapeError, match=text):
        tiled(x, times=4)
    with pytest.raises(ShapeError, match=text), valueless():
        tiled(x, times=4)


def test_wrong_infer_is_told() -> None:
    op = lm.custom_op(infer=lambda x, power: 3)(plain)  # type: ignore[arg-type, return-value]
    with pytest.raises((ArgumentError, TypeError)):
        op(lm.ones(()))
    op = lm.custom_op(infer=lambda x, power: (x, x))(plain)
    with pytest.raises(ArgumentError, match="infer must return the specs of output"):
        op(lm.ones(()))


def test_trial_run_that_fails_names_infer() -> None:
    @lm.custom_op(differentiable=False)
    def picky(x):
        if x.tolist() == [1.0, 1.0]:
            raise ValueError("not ones")
        return x * 1.0

    assert picky(lm.zeros((2,))).tolist() == [0.0, 0.0]
    with printing():  # which has the values themselves
        picky(lm.zeros((2,)))
    with pytest.raises(ValueError, match="not ones") as caught, valueless():
        picky(lm.zeros((2,)))
    assert "infer= declares them" in caught.value.__notes__[0]


def test_interpreter_gets_the_op_and_its_plan() -> None:
    plans: list[Plan] = []

    with printing() as printer:
        run = printer.run

        def noting(plan: Plan, inputs: Any) -> Any:
            plans.append(plan)
            return run(plan, inputs)

        printer.run = noting  # type: ignore[method-assign]
        polar(leaf(1.0), frequency=2.0)
    (plan,) = plans
    assert plan.op is polar
    assert (plan.name, plan.attrs.frequency, len(plan.outputs)) == ("polar", 2.0, 2)


def test_value_dependent_shapes_are_fine_eagerly() -> None:
    @lm.custom_op
    def positive(x):
        return x[x > 0.0]

    @positive.gradient
    def _(grad, x):
        return lm.zeros_like(x).at[x > 0.0].add(grad)

    x = leaf(1.0, -1.0, 2.0)
    assert positive(x).shape == (2,)
    assert positive(x * -1.0).shape == (1,)
    assert (positive(x) * 3.0).sum().backward()[x].tolist() == [3.0, 0.0, 3.0]


def test_partial_function_is_a_forward() -> None:
    power = lm.custom_op(name="power")(functools.partial(lambda x, n: x**n, n=3.0))
    assert power(lm.tensor(2.0)).item() == 8.0
