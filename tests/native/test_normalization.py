"""Normalisation and its gradients against float64 formulas, over every path of the kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from lumus import _native
from tests.native.instruction_sets import check_passes, on_every_isa
from tests.native.native_arrays import DTYPES, FLOATS, layouts, native, to_numpy

Values = np.ndarray[Any, Any]
Extents = tuple[int, int, int, int]

EPS = 0.01
# Of the largest element; sums over thousands of elements have an error of their own.
TOLERANCE = {"float64": 2e-14, "float32": 3e-6, "float16": 2e-3, "bfloat16": 1.6e-2}

# Rows of one block and of several; groups; weights of runs, some cut, some shorter than a vector.
ROWS: tuple[Extents, ...] = (
    (5, 1, 7, 1), (70, 1, 33, 1), (300, 1, 40, 1), (3, 1, 20_000, 1), (40, 3, 5, 1),
    (3, 2, 4, 3), (2, 3, 5, 17), (2, 1, 3, 9_000), (9, 2, 2, 400), (2, 2, 600, 20),
)  # fmt: skip
# Columns of several bands and strips; planes of several blocks; channels beyond the cache.
CHANNELS: tuple[Extents, ...] = (
    (7, 1, 5, 1), (150, 1, 67, 1), (64, 1, 3, 5), (130, 1, 30, 3), (3, 1, 4, 16),
    (40, 1, 6, 300), (3, 1, 2, 20_000), (5, 1, 3, 130_000),
)  # fmt: skip
PLANS = [("rows", one) for one in ROWS] + [("channels", one) for one in CHANNELS]


@pytest.fixture(autouse=True)
def keep_threads() -> Iterator[None]:
    threads = _native.num_threads()
    yield
    _native.set_num_threads(threads)


def draw(name: str, shape: tuple[int, ...], seed: int, offset: float = 0.0) -> Values:
    values = np.random.default_rng(seed).standard_normal(shape) + offset
    return values.astype(DTYPES[name][1])


def wide(values: Values) -> Values:
    return values.astype(np.float64)


class Expected:
    """Result, statistics and gradients by the formulas, in float64."""

    def __init__(
        self, over: str, x: Values, grad: Values, weight: Values, bias: Values, is_centered: bool
    ) -> None:
        axes = (2, 3) if over == "rows" else (0, 3)
        per_channel = (1, x.shape[1], x.shape[2], 1)
        x, grad = wide(x), wide(grad)
        self.mean = x.mean(axis=axes, keepdims=True) if is_centered else np.zeros((1, 1, 1, 1))
        self.variance = ((x - self.mean) ** 2).mean(axis=axes, keepdims=True)
        self.root = 1 / np.sqrt(self.variance + EPS)
        self.normalized = (x - self.mean) * self.root
        w, b = wide(weight).reshape(per_channel), wide(bias).reshape(per_channel)
        self.y = self.normalized * w + b
        h = grad * w
        inner = h - self.normalized * (h * self.normalized).mean(axis=axes, keepdims=True)
        if is_centered:
            inner = inner - h.mean(axis=axes, keepdims=True)
        self.grad_x = inner * self.root
        self.grad_x_given = h * self.root
        self.grad_weight = (grad * self.normalized).sum(axis=(0, 3)).ravel()
        self.grad_bias = grad.sum(axis=(0, 3)).ravel()


def check(name: str, got: Any, want: Values, scale: float | None = None) -> None:
    found = wide(to_numpy(got)).reshape(want.shape)
    largest = max(1.0, np.abs(want).max()) if scale is None else scale
    np.testing.assert_allclose(found, want, rtol=0, atol=TOLERANCE[name] * largest)


def inputs(name: str, extents: Extents) -> tuple[Values, Values, Values, Values]:
    outer, groups, channels, inner = extents
    shape = (outer, groups, channels, inner)
    return (
        draw(name, shape, 0, 2.0),
        draw(name, shape, 1),
        draw(name, (groups * channels,), 2),
        draw(name, (groups * channels,), 3),
    )


@pytest.mark.parametrize(("over", "extents"), PLANS, ids=str)
@pytest.mark.parametrize("name", FLOATS)
def test_results_and_gradients_are_those_of_the_formula(
    name: str, over: str, extents: Extents
) -> None:
    x, grad, weight, bias = inputs(name, extents)
    if name != "float32" and x.size > 60_000:
        pytest.skip("the long ones run in float32")
    plan = _native.Normalization(extents, EPS, over == "rows", True, True)
    want = Expected(over, x, grad, weight, bias, is_centered=True)
    y, mean, spread = plan.run(True, True, native(x), native(weight), native(bias))
    check(name, y, want.y)
    narrow = "float64" if name == "float64" else "float32"
    check(narrow, mean, want.mean.ravel())
    check(narrow, spread, (want.root if over == "rows" else want.variance).ravel())
    results = plan.run_grad(
        True, weight.shape, True, True, True, native(grad), native(x), mean, spread, native(weight)
    )
    check(name, results[0], want.grad_x)
    scale = np.sqrt(x.size / weight.size) + np.abs(want.grad_bias).max()
    check(name, results[1], want.grad_weight, scale)
    check(name, results[2], want.grad_bias, scale)
    # What is wanted alone is what it is beside the others.
    for place in range(3):
        wanted = [place == one for one in range(3)]
        alone = plan.run_grad(
            True, weight.shape, *wanted, native(grad), native(x), mean, spread, native(weight)
        )
        assert to_numpy(alone).tobytes() == to_numpy(results[place]).tobytes()


@pytest.mark.parametrize("extents", ROWS, ids=str)
def test_rows_around_zero_are_those_of_the_formula(extents: Extents) -> None:
    x, grad, weight, bias = inputs("float32", extents)
    plan = _native.Normalization(extents, EPS, True, False, True)
    want = Expected("rows", x, grad, weight, 0 * bias, is_centered=False)
    y, root = plan.run(True, False, native(x), native(weight))
    check("float32", y, want.y)
    check("float32", root, want.root.ravel())
    grad_x, grad_weight = plan.run_grad(
        True, weight.shape, True, True, False, native(grad), native(x), root, native(weight)
    )
    check("float32", grad_x, want.grad_x)
    check("float32", grad_weight, want.grad_weight, np.sqrt(x.size / weight.size) * 4)


@pytest.mark.parametrize("extents", CHANNELS, ids=str)
def test_given_statistics_are_constants(extents: Extents) -> None:
    x, grad, weight, bias = inputs("float32", extents)
    plan = _native.Normalization(extents, EPS, False, True, False)
    want = Expected("channels", x, grad, weight, bias, is_centered=True)
    statistics = [native(one.ravel().astype(np.float32)) for one in (want.mean, want.variance)]
    y = plan.run(True, True, native(x), *statistics, native(weight), native(bias))
    check("float32", y, want.y)
    grad_x, grad_weight = plan.run_grad(
        True, weight.shape, True, True, False, native(grad), native(x), *statistics, native(weight)
    )
    check("float32", grad_x, want.grad_x_given)
    check("float32", grad_weight, want.grad_weight, np.sqrt(x.size / weight.size) * 4)
    # Infinite elements reach themselves alone.
    x.ravel()[3] = np.inf
    (alone,) = [
        plan.run_grad(
            True, (), True, False, False, native(grad), native(x), *statistics, native(weight)
        )
    ]
    assert to_numpy(alone).tobytes() == to_numpy(grad_x).tobytes()


@pytest.mark.parametrize(("over", "extents"), [PLANS[2], PLANS[6], PLANS[11], PLANS[15]], ids=str)
@pytest.mark.parametrize(("has_weight", "has_bias"), [(False, False), (True, False)])
def test_weight_and_bias_may_be_left_out(
    over: str, extents: Extents, has_weight: bool, has_bias: bool
) -> None:
    x, grad, weight, bias = inputs("float32", extents)
    if not has_weight:
        weight = np.ones_like(weight)
    want = Expected(over, x, grad, weight, 0 * bias, is_centered=True)
    plan = _native.Normalization(extents, EPS, over == "rows", True, True)
    given = [native(weight)] if has_weight else []
    y, mean, spread = plan.run(has_weight, has_bias, native(x), *given)
    check("float32", y, want.y)
    grad_x = plan.run_grad(
        has_weight, (), True, False, False, native(grad), native(x), mean, spread, *given
    )
    check("float32", grad_x, want.grad_x)


@pytest.mark.parametrize("over", ["rows", "channels"])
def test_any_layout_gives_the_bits_of_the_dense_one(over: str) -> None:
    extents = (6, 1, 8, 20)
    x, grad, weight, bias = inputs("float32", extents)
    plan = _native.Normalization(extents, EPS, over == "rows", True, True)
    results = []
    for laid, laid_grad in zip(layouts(x).values(), layouts(grad).values(), strict=True):
        y, mean, spread = plan.run(True, True, native(laid), native(weight), native(bias))
        grads = plan.run_grad(
            True, (8,), True, True, True, native(laid_grad), native(laid), mean, spread,
            native(weight),
        )  # fmt: skip
        results.append([to_numpy(one).tobytes() for one in (y, mean, spread, *grads)])
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize(
    ("over", "extents"),
    [("rows", (900, 1, 70, 1)), ("rows", (3, 1, 50_000, 1)), ("rows", (5, 2, 3, 9_000)),
     ("channels", (900, 1, 70, 1)), ("channels", (40, 1, 20, 300)),
     ("channels", (4, 1, 2, 90_000))],
    ids=str,
)  # fmt: skip
def test_bits_do_not_depend_on_the_number_of_threads(over: str, extents: Extents) -> None:
    x, grad, weight, bias = (native(one) for one in inputs("float32", extents))
    plan = _native.Normalization(extents, EPS, over == "rows", True, True)
    shape = (extents[1] * extents[2],)
    results = []
    for threads in (1, 2, 3, 8):
        _native.set_num_threads(threads)
        y, mean, spread = plan.run(True, True, x, weight, bias)
        grads = plan.run_grad(True, shape, True, True, True, grad, x, mean, spread, weight)
        results.append([to_numpy(one).tobytes() for one in (y, mean, spread, *grads)])
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize(("over", "extents"), PLANS[:15], ids=str)
@pytest.mark.parametrize("scale", [1e25, 1e-25])
def test_squares_beyond_float32_are_added_up_in_float64(
    over: str, extents: Extents, scale: float
) -> None:
    x, *_ = inputs("float32", extents)
    x = (wide(x) * scale).astype(np.float32)
    plan = _native.Normalization(extents, 0.0, over == "rows", True, True)
    y, *_ = plan.run(False, False, native(x))
    axes = (2, 3) if over == "rows" else (0, 3)
    centred = wide(x) - wide(x).mean(axis=axes, keepdims=True)
    want = centred / np.sqrt((centred**2).mean(axis=axes, keepdims=True))
    check("float32", y, want)


@pytest.mark.parametrize("extents", [(64, 1, 3, 11_000), (64, 1, 3, 11_001)])
def test_large_results_that_are_streamed_are_the_same(extents: Extents) -> None:
    """Two channels' worth of a streamed result against one that is not."""
    x, grad, weight, bias = inputs("float32", extents)
    few = (64, 1, 1, extents[3])
    whole = _native.Normalization(extents, EPS, False, True, True)
    part = _native.Normalization(few, EPS, False, True, True)
    y, mean, var = whole.run(True, True, *map(native, (x, weight, bias)))
    grad_x = whole.run_grad(
        True, (3,), True, False, False, native(grad), native(x), mean, var, native(weight)
    )
    first = [np.ascontiguousarray(one[:, :, :1]) for one in (x, grad)]
    ends = [one[:1].copy() for one in (weight, bias)]
    y_1, mean_1, var_1 = part.run(True, True, *map(native, (first[0], *ends)))
    grad_1 = part.run_grad(
        True, (1,), True, False, False, native(first[1]), native(first[0]), mean_1, var_1,
        native(ends[0]),
    )  # fmt: skip
    np.testing.assert_array_equal(to_numpy(y)[:, :, :1], to_numpy(y_1))
    np.testing.assert_array_equal(to_numpy(grad_x)[:, :, :1], to_numpy(grad_1))


def test_no_elements_at_all() -> None:
    for extents in ((0, 1, 3, 4), (2, 1, 0, 1), (2, 3, 4, 0), (2, 1, 4, 0), (0, 1, 0, 0)):
        for over in ("rows", "channels") if extents[1] == 1 else ("rows",):
            x, grad, weight, bias = inputs("float32", extents)
            plan = _native.Normalization(extents, EPS, over == "rows", True, True)
            y, mean, spread = plan.run(True, True, *map(native, (x, weight, bias)))
            assert to_numpy(y).shape == x.shape
            _, *sums = plan.run_grad(
                True, weight.shape, True, True, True, native(grad), native(x), mean, spread,
                native(weight),
            )  # fmt: skip
            for one in sums:
                np.testing.assert_array_equal(to_numpy(one), np.zeros(weight.shape))


@on_every_isa
def test_every_instruction_set_passes(isa: str) -> None:
    check_passes(isa, __file__, "formula or given or beyond or elements")
