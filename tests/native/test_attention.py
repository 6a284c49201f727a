"""The attention kernels against all scores written out in float64."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from lumus import _native
from tests.native.instruction_sets import check_passes, on_every_isa
from tests.native.native_arrays import DTYPES, FLOATS, layouts, native, to_numpy

Values = np.ndarray[Any, Any]

# Relative to the largest element of a result.
TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "float16": 4e-3, "bfloat16": 2e-2}
# batch, heads, key heads, queries, keys, width, value width: within a block and over several;
# the last with few heads and many keys, whose rows are then cut into ranges.
SIZES = [
    (2, 2, 2, 5, 7, 3, 4),
    (1, 2, 1, 64, 64, 32, 16),
    (2, 4, 2, 100, 130, 17, 33),
    (1, 3, 3, 3, 1, 1, 1),
    (1, 2, 1, 70, 520, 16, 8),
]
SCALE = 0.4


@pytest.fixture(autouse=True)
def keep_threads() -> Iterator[None]:
    threads = _native.num_threads()
    yield
    _native.set_num_threads(threads)


def drawn(sizes: tuple[int, ...], dtype: str = "float64") -> tuple[Values, ...]:
    """query, key, value and the gradient of the output."""
    batch, heads, key_heads, queries, keys, width, value_width = sizes
    random = np.random.default_rng(sizes)
    shapes = (
        (batch, heads, queries, width),
        (batch, key_heads, keys, width),
        (batch, key_heads, keys, value_width),
        (batch, heads, queries, value_width),
    )
    return tuple(random.standard_normal(shape).astype(DTYPES[dtype][1]) for shape in shapes)


def written_out(
    query: Values,
    key: Values,
    value: Values,
    grad: Values,
    mask: Values | None = None,
    *,
    is_causal: bool = False,
) -> list[Values]:
    """Output, logarithms, and the gradients of query, key, value and scores."""
    query, key, value, grad = (one.astype(np.float64) for one in (query, key, value, grad))
    shared = query.shape[1] // key.shape[1]
    keys, values = np.repeat(key, shared, axis=1), np.repeat(value, shared, axis=1)
    scores = query @ keys.swapaxes(-1, -2) * SCALE
    allowed = np.ones(scores.shape, np.bool_)
    if is_causal:
        allowed = np.tril(allowed)
    if mask is not None:
        allowed = allowed & (mask if mask.dtype == np.bool_ else mask != -np.inf)
        scores = scores + (0 if mask.dtype == np.bool_ else np.where(mask == -np.inf, 0, mask))
    exps = np.where(allowed, np.exp(scores), 0.0)
    sums = exps.sum(axis=-1, keepdims=True)
    weights = exps / np.where(sums == 0, 1.0, sums)
    grad_weights = grad @ values.swapaxes(-1, -2)
    grad_scores = weights * (grad_weights - (weights * grad_weights).sum(-1, keepdims=True))
    by_key = grad_scores.swapaxes(-1, -2) @ query * SCALE
    by_value = weights.swapaxes(-1, -2) @ grad
    with np.errstate(divide="ignore"):
        logarithms = np.log(sums[..., 0])
    groups = (query.shape[0], key.shape[1], shared)
    return [
        weights @ values,
        logarithms,
        grad_scores @ keys * SCALE,
        by_key.reshape(*groups, *by_key.shape[2:]).sum(axis=2),
        by_value.reshape(*groups, *by_value.shape[2:]).sum(axis=2),
        grad_scores,
    ]


def computed(
    query: Values,
    key: Values,
    value: Values,
    grad: Values,
    mask: Values | None = None,
    *,
    is_causal: bool = False,
) -> list[Values]:
    arrays = [native(one) for one in (query, key, value)]
    masked = None if mask is None else native(mask)
    output, logarithms = _native.attention(*arrays, masked, None, SCALE, is_causal, 0.0)
    given = (native(grad), *arrays, output, logarithms, masked, None)
    grads = _native.attention_grad(*given, SCALE, is_causal, 0.0, True)
    return [to_numpy(one) for one in (output, logarithms, *grads)]


def check(got: list[Values], want: list[Values], dtype: str, where: str) -> None:
    for number, (one, other) in enumerate(zip(got, want, strict=True)):
        exact = one.astype(np.float64)
        finite = np.isfinite(other)
        assert np.array_equal(exact[~finite], other[~finite]), f"{where}, result {number}"
        size = np.abs(other[finite]).max(initial=1e-3)
        error = np.abs(exact[finite] - other[finite]).max(initial=0.0)
        assert error <= TOLERANCE[dtype] * size, f"{where}, result {number}: {error / size}"


def masks(sizes: tuple[int, ...], dtype: str) -> dict[str, Values | None]:
    batch, heads, _, queries, keys, _, _ = sizes
    random = np.random.default_rng(7)
    shape = (batch, heads, queries, keys)
    computed_in = np.float64 if dtype == "float64" else np.float32
    numbers = random.standard_normal(shape).astype(computed_in)
    numbers[random.random(shape) < 0.5] = -np.inf
    padding = np.broadcast_to(random.random((batch, 1, 1, keys)) < 0.6, shape)
    turned = np.ascontiguousarray(numbers.swapaxes(-1, -2)).swapaxes(-1, -2)
    return {
        "none": None,
        "truths": random.random(shape) < 0.4,
        "padding": padding,
        "numbers": numbers,
        "numbers, turned": turned,
    }


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("sizes", SIZES)
def test_results_are_those_of_the_formula(sizes: tuple[int, ...], dtype: str) -> None:
    given = drawn(sizes, dtype)
    tried = masks(sizes, dtype)
    if dtype in ("float16", "bfloat16"):
        tried = {name: tried[name] for name in ("none", "numbers")}
    for (name, mask), is_causal in itertools.product(tried.items(), (False, True)):
        want = written_out(*given, mask, is_causal=is_causal)
        got = computed(*given, mask, is_causal=is_causal)
        check(got, want, dtype, f"{name}, causal {is_causal}")


def test_layout_of_the_arguments_does_not_change_a_bit() -> None:
    # Whole vectors of any width, so that the dense rows are read in place.
    given = drawn((2, 2, 2, 66, 70, 16, 32), "float32")
    want = [one.tobytes() for one in computed(*given)]
    for name in layouts(given[0]):
        laid_out = tuple(layouts(one)[name] for one in given)
        assert [one.tobytes() for one in computed(*laid_out)] == want, name


def test_heads_cut_out_of_rows_give_results_that_lie_in_rows() -> None:
    batch, queries, heads, width = 2, 5, 3, 4
    rows = np.random.default_rng(0).standard_normal((batch, queries, 3, heads, width))
    query, key, value = rows.transpose(2, 0, 3, 1, 4)
    grad = np.ones((batch, heads, queries, width))
    output, _, *grads, _ = computed(query, key, value, grad)
    for one in (output, *grads):
        assert one.transpose(0, 2, 1, 3).flags.c_contiguous
    check(computed(query, key, value, grad), written_out(query, key, value, grad), "float64", "")


@pytest.mark.parametrize("sizes", SIZES[2:])
def test_bits_do_not_depend_on_the_number_of_threads(sizes: tuple[int, ...]) -> None:
    given = drawn(sizes, "float32")
    results: list[list[bytes]] = []
    for threads in (1, 2, 5):
        _native.set_num_threads(threads)
        results.append([one.tobytes() for one in computed(*given, is_causal=True)])
    assert results[1:] == [results[0]] * 2


@pytest.mark.parametrize("empty", range(7))
def test_arrays_without_elements_give_zeros(empty: int) -> None:
    sizes = tuple(0 if place == empty else n for place, n in enumerate((2, 2, 2, 3, 4, 5, 6)))
    if empty in (1, 2):
        sizes = (2, 0, 0, *sizes[3:])
    given = drawn(sizes)
    output, _, *grads = computed(*given)
    if sizes[4] == 0:
        assert not output.any()
    if 0 in (*sizes[:2], sizes[3], sizes[4]):
        assert not any(one.any() for one in grads)
    assert [one.shape for one in grads[:3]] == [one.shape for one in given[:3]]


def test_what_is_excluded_adds_nothing_even_where_it_is_not_finite() -> None:
    sizes = (1, 2, 2, 70, 140, 5, 6)
    query, key, value, grad = drawn(sizes)
    mask = np.random.default_rng(1).random((1, 2, 70, 140)) < 0.5
    mask[..., 3] = False
    mask[..., 100] = False
    mask[:, :, 9] = False
    want = computed(query, key, value, grad, mask)
    key[..., 3, :], value[..., 3, :] = np.nan, np.inf
    key[..., 100, 0], value[..., 100, 0] = np.inf, np.nan
    query[..., 9, :], grad[..., 9, :] = np.nan, -np.inf
    got = computed(query, key, value, grad, mask)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)
    assert not got[0][:, :, 9].any()


def test_keys_after_the_query_may_hold_anything() -> None:
    query, key, value, grad = drawn((1, 1, 1, 100, 100, 4, 4))
    want = computed(query, key, value, grad, is_causal=True)
    key[..., 80:, :], value[..., 80:, :], query[..., 80:, :] = np.nan, np.inf, np.nan
    grad[..., 80:, :] = 0
    got = computed(query, key, value, grad, is_causal=True)
    np.testing.assert_allclose(got[0][..., :80, :], want[0][..., :80, :], rtol=1e-12)
    assert np.isfinite(got[2][..., :80, :]).all()


@pytest.mark.parametrize("score", [np.inf, np.nan, -np.inf])
def test_a_query_without_a_softmax_is_nan_and_others_are_not(score: float) -> None:
    query, key, value, grad = drawn((1, 1, 1, 3, 4, 1, 2))
    key = np.abs(key)
    query[0, 0, 1] = score
    output, logarithms, *_ = computed(query, key, value, grad)
    assert np.isnan(output[0, 0, 1]).all()
    assert np.isnan(logarithms[0, 0, 1])
    assert np.isfinite(output[0, 0, [0, 2]]).all()


def test_large_scores_do_not_overflow() -> None:
    query, key, value, grad = drawn((1, 1, 1, 70, 200, 4, 3), "float32")
    got = computed(query * 300, key * 300, value, grad)
    assert all(np.isfinite(one).all() for one in got)


@on_every_isa
def test_every_instruction_set_passes(isa: str) -> None:
    check_passes(isa, __file__, "(formula and sizes2 and float32) or excluded or softmax")
