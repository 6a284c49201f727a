"""lumus.custom_op: users' ops, their gradients to any order, and what they refuse."""

import copy
import functools
import gc
import pickle
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.autograd.custom_gradient import CustomRecord
from lumus.core.device import device_named
from lumus.core.mode import MODE
from lumus.core.plan import Plan
from lumus.errors import (
    ArgumentError,
    CheckError,
    DeviceError,
    DTypeError,
    GradientError,
    GraphFreedError,
    KindError,
    MissingGradientError,
    SavedTensorMutatedError,
    ShapeError,
)
from lumus.testing import gradcheck
from tests.core.printing import printing


@lm.custom_op
def cube(x):
    """The third power, by NumPy."""
    return x.numpy() ** 3


@cube.gradient
def cube_gradient(grad, x):
    return grad * 3.0 * x * x


@lm.custom_op(outputs=("cosine", "sine"))
def polar(x, *, frequency=1.0):
    return (x * frequency).cos(), (x * frequency).sin()


@polar.gradient
def polar_gradient(by_cosine, by_sine, cosine, sine, frequency):
    return (by_sine * cosine - by_cosine * sine) * frequency


@lm.custom_op
def select(mask, x, y, indices):
    return lm.where(mask, x * y, 0.0).take(indices)


@select.gradient
def select_gradient(grad, mask, x, y, indices, needs):
    assert needs[0] is needs[3] is False
    scattered = lm.zeros_like(x).at[indices].add(grad)
    inside = lm.where(mask, scattered, 0.0)
    return None, inside * y if needs[1] else None, inside * x if needs[2] else None, None


def values(*elements: float) -> Any:
    return lm.tensor(list(elements), dtype=lm.float64)


def leaf(*elements: float) -> Any:
    return values(*elements).requires_grad_()


# ------------------------------------------------------------------------------------ what it gives


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


# ------------------------------------------------------------------------------ the graph as data


def test_graph_is_printed_with_name_saved_bytes_and_line() -> None:
    x = lm.tensor([1.0, 2.0], requires_grad=True)
    cosine, _ = polar(x, frequency=2.0)
    graph = cosine.graph()
    node = graph.nodes[-1]
    assert (node.op, node.attrs) == ("polar", (("frequency", "2.0"),))
    assert [(one.field, one.nbytes) for one in node.saved] == [("cosine", 8), ("sine", 8)]
    assert "cosine, _ = polar(x, frequency=2.0)" in node.source
    assert graph.saved_bytes == 16
    assert "polar(%0, frequency=2.0) -> float32[2]  saves cosine: float32[2] 8 B" in str(graph)
    assert str(pickle.loads(pickle.dumps(graph))) == str(graph)


def test_record_is_data() -> None:
    x = leaf(1.0)
    node = cube(x).node
    assert node is not None
    record = node.record
    assert isinstance(record, CustomRecord)
    assert record.rule.function is cube_gradient
    assert [name for name, _ in record.saved()] == ["x"]
    with pytest.raises(AttributeError, match="immutable"):
        record.values = ()  # type: ignore[misc]


def test_what_is_not_declared_is_not_kept() -> None:
    @lm.custom_op(intermediates=("large",))
    def double(x):
        return x + x, lm.zeros((1000, 1000))

    double.gradient(lambda grad: grad * 2.0)
    x = leaf(1.0)
    before = lm.memory_stats()["live_bytes"]
    y = double(x)
    assert lm.memory_stats()["live_bytes"] - before < 1000
    assert y.sum().backward()[x].item() == 2.0


def test_saved_output_makes_no_reference_cycle() -> None:
    gc.collect()
    gc.disable()
    try:
        x = leaf(1.0)
        cosine, sine = polar(x)
        node = weakref.ref(cosine.node)
        cosine.sum().backward(create_graph=True)
        del cosine, sine
        assert node() is None
    finally:
        gc.enable()


def test_saved_input_overwritten_before_backward_raises_and_names_it() -> None:
    x = leaf(1.0, 2.0)
    y = cube(x)
    with lm.no_grad():
        x.add_(1.0)
    with pytest.raises(SavedTensorMutatedError, match=r"cube saved \(x: float64\[2\]\)") as caught:
        y.sum().backward()
    assert (caught.value.op, caught.value.field) == ("cube", "x")
    assert "y = cube(x)" in str(caught.value)


def test_saved_output_overwritten_before_backward_raises() -> None:
    x = leaf(1.0)
    cosine, sine = polar(x)
    with lm.no_grad():
        sine.detach().zero_()
    with pytest.raises(SavedTensorMutatedError, match="sine"):
        cosine.sum().backward()


def test_result_and_gradient_have_memory_of_their_own() -> None:
    @lm.custom_op(outputs=("first", "second"))
    def same(x):
        return x, lm.from_numpy(x.numpy()[::-1])

    @same.gradient
    def _(by_first, by_second, x):
        return x

    x = leaf(1.0, 2.0)
    first, second = same(x)
    with lm.no_grad():
        first.detach().zero_()
        second.detach().zero_()
    grad = first.sum().backward()[x]
    grad.zero_()
    assert x.tolist() == [1.0, 2.0]


def test_call_leaves_nothing_to_the_collector() -> None:
    x = leaf(1.0)
    gc.collect()
    gc.disable()
    try:
        cube(x).sum().backward()
        with printing():
            cube(x)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_op_is_found_again_by_pickle_and_copy() -> None:
    assert pickle.loads(pickle.dumps(cube)) is cube
    assert copy.deepcopy({"op": cube})["op"] is cube
    assert (cube.__name__, cube.__doc__) == ("cube", "The third power, by NumPy.")
    assert repr(select) == "<custom op select(mask, x, y, indices)>"


def test_same_name_twice_is_two_ops() -> None:
    def define(factor: float) -> Any:
        @lm.custom_op
        def scale(x):
            return x * factor

        scale.gradient(lambda grad: grad * factor)
        return scale

    x = leaf(1.0)
    first, second = define(2.0), define(3.0)
    y, z = first(x), second(x)
    assert (y.item(), z.item()) == (2.0, 3.0)
    assert (y.sum().backward()[x].item(), z.sum().backward()[x].item()) == (2.0, 3.0)


def test_replaced_gradient_function_holds_for_later_calls() -> None:
    @lm.custom_op
    def double(x):
        return x * 2.0

    x = leaf(1.0)
    double.gradient(lambda grad: grad * 3.0)
    early = double(x).sum()
    double.gradient(lambda grad: grad * 2.0)
    assert (early.backward()[x].item(), double(x).sum().backward()[x].item()) == (3.0, 2.0)


def test_threads_share_an_op() -> None:
    found = []

    def work(factor: float) -> None:
        x = leaf(factor)
        found.append(polar(x, frequency=factor)[1].sum().backward()[x].item())

    threads = [threading.Thread(target=work, args=(float(one),)) for one in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == pytest.approx(sorted(n * np.cos(n * n) for n in range(4)))


# --------------------------------------------------------------------------- differentiable or not


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


# ------------------------------------------------------------------------------- users' mistakes


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


def plain(x, *, power=2):
    return x


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


# --------------------------------------------------------------------- as one op for an interpreter


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
