"""Pools and resampling on the CPU against the reference device, over many windows and tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus import _native
from lumus.core.dispatch import apply
from lumus.core.kernels.pool import PoolAxis
from lumus.core.resampling import ResampleAxis, ResampleMode
from lumus.testing.sweep import elements
from tests.native.instruction_sets import check_passes, on_every_isa

FLOATS = (lm.float64, lm.float32, lm.float16, lm.bfloat16)
TOLERANCE = {"float64": 1e-14, "float32": 2e-6, "float16": 2e-3, "bfloat16": 1.6e-2}


@pytest.fixture(autouse=True)
def keep_threads() -> Iterator[None]:
    threads = _native.num_threads()
    yield
    _native.set_num_threads(threads)


def spaced(length: int, window: int, stride: int, padding: int = 0, dilation: int = 1) -> PoolAxis:
    reach = (window - 1) * dilation + 1
    count = (length + 2 * padding - reach) // stride + 1
    return PoolAxis(length, count, window, stride, padding, dilation)


def overhanging(length: int, window: int, stride: int, padding: int = 0) -> PoolAxis:
    count = -(-(length + 2 * padding - window) // stride) + 1
    if (count - 1) * stride >= length + padding:
        count -= 1
    return PoolAxis(length, count, window, stride, padding, 1)


def divided(length: int, count: int) -> PoolAxis:
    ends = [-(-(o + 1) * length // count) - o * length // count for o in range(count)]
    return PoolAxis(length, count, max(ends), 0, 0, 1)


# Each path of the kernels: halving with odd and even lengths, windows that share cells, strides
# above two, gaps, windows too many to gather from, wide ones taken column by column, uneven ones,
# rows of more than one block, places beyond a byte.
EVEN: list[tuple[PoolAxis, ...]] = [
    (spaced(6, 2, 2), spaced(8, 2, 2)),
    (spaced(7, 2, 2), spaced(67, 2, 2)),
    (spaced(2, 2, 2), spaced(2, 2, 2)),
    (spaced(3, 1, 1), spaced(5, 2, 2), spaced(33, 2, 2)),
    (spaced(9, 2, 1), spaced(9, 2, 2)),
    (overhanging(7, 2, 2), overhanging(9, 2, 2)),
    (spaced(9, 3, 2, 1), spaced(37, 3, 2, 1)),
    (spaced(9, 3, 1, 1), spaced(40, 3, 1, 1)),
    (overhanging(8, 3, 2, 1), overhanging(10, 3, 2, 1)),
    (spaced(11, 3, 3), spaced(50, 3, 3, 1)),
    (spaced(9, 2, 4), spaced(29, 3, 5, 1)),
    (spaced(8, 1, 1), spaced(20, 1, 2)),
    (spaced(12, 7, 1, 3), spaced(30, 7, 1, 2)),
    (spaced(12, 12, 1), spaced(41, 41, 1)),
    (spaced(20, 18, 1, 9), spaced(21, 19, 2)),
    (spaced(1200, 2, 2),),
    (spaced(1300, 3, 1, 1),),
    (spaced(3000, 3, 2, 1),),
    (spaced(2, 2, 1, 1), spaced(1100, 4, 1, 2)),
    (spaced(3, 2, 1), spaced(4, 3, 1, 1), spaced(18, 2, 2, 1)),
    (spaced(5, 2, 2), spaced(6, 2, 2), spaced(7, 2, 2)),
]
SPREAD: list[tuple[PoolAxis, ...]] = [
    (spaced(9, 3, 1, 1, 2), spaced(40, 2, 1, 1, 3)),
    (spaced(13, 2, 3, 0, 5), spaced(25, 3, 2, 2, 3)),
    (spaced(30, 4, 4, 3, 2),),
]
UNEVEN: list[tuple[PoolAxis, ...]] = [
    (divided(5, 2), divided(7, 3)),
    (divided(3, 5), divided(40, 33)),
    (divided(4, 3), divided(5, 5), divided(17, 4)),
    (divided(10, 4), spaced(20, 2, 2)),
    (spaced(20, 2, 2), divided(10, 4)),
]


def values(shape: tuple[int, ...], kind: str, seed: int = 0) -> Any:
    """Small integers with many ties, or any numbers; some NaN and infinities on request."""
    random = np.random.default_rng(seed)
    drawn = random.integers(-3, 4, shape).astype(float)
    if kind == "any":
        drawn = random.standard_normal(shape)
    if kind == "special":
        odd = random.choice([np.nan, np.inf, -np.inf, -0.0], shape)
        drawn = np.where(random.random(shape) < 0.4, odd, drawn)
        drawn[0, 0] = -np.inf
    return drawn


def on_both(drawn: Any, dtype: Any) -> list[lm.Tensor[Any]]:
    return [lm.tensor(drawn, device=device).astype(dtype) for device in ("cpu", "reference")]


@pytest.mark.parametrize("kind", ["ties", "any", "special"])
@pytest.mark.parametrize("axes", [*EVEN, *SPREAD, *UNEVEN], ids=str)
def test_maxima_places_and_gradients_are_the_reference(
    axes: tuple[PoolAxis, ...], kind: str
) -> None:
    for dtype in FLOATS if kind == "ties" else (lm.float32,):
        shape = (2, 3, *(axis.length for axis in axes))
        results = [apply("max_pool", x, axes=axes) for x in on_both(values(shape, kind), dtype)]
        for ours, theirs in zip(*results, strict=True):
            assert ours.dtype is theirs.dtype
            np.testing.assert_array_equal(elements(ours), elements(theirs))
        # Integers add up exactly in every dtype.
        grads = on_both(values(results[0][0].shape, "ties", 1), dtype)
        spread = [
            elements(apply("max_pool_grad", grad, places, axes=axes))
            for grad, (_, places) in zip(grads, results, strict=True)
        ]
        np.testing.assert_array_equal(*spread)
        taken = [
            elements(apply("max_pool_take", x, places, axes=axes))
            for x, (_, places) in zip(on_both(values(shape, kind), dtype), results, strict=True)
        ]
        np.testing.assert_array_equal(*taken)
        np.testing.assert_array_equal(taken[0], elements(results[0][0]))


@pytest.mark.parametrize("counts_padding", [True, False])
@pytest.mark.parametrize("axes", EVEN, ids=str)
def test_means_and_their_gradients_are_the_reference(
    axes: tuple[PoolAxis, ...], counts_padding: bool
) -> None:
    for dtype in FLOATS:
        for divisor in (None, -7):
            kwargs = {"axes": axes, "counts_padding": counts_padding, "divisor": divisor}
            shape = (2, 3, *(axis.length for axis in axes))
            x = on_both(values(shape, "any"), dtype)
            ours, theirs = (elements(apply("avg_pool", one, **kwargs)) for one in x)
            allowed = TOLERANCE[dtype.name]
            np.testing.assert_allclose(ours, theirs, rtol=allowed, atol=allowed)
            grad = on_both(values(ours.shape, "any", 1), dtype)
            ours, theirs = (elements(apply("avg_pool_grad", one, **kwargs)) for one in grad)
            np.testing.assert_allclose(ours, theirs, rtol=4 * allowed, atol=4 * allowed)


def test_special_values_of_a_mean_stay_in_their_windows() -> None:
    for axes in EVEN:
        shape = (2, 3, *(axis.length for axis in axes))
        x = on_both(values(shape, "special"), lm.float32)
        kwargs = {"axes": axes, "counts_padding": True, "divisor": None}
        ours, theirs = (elements(apply("avg_pool", one, **kwargs)) for one in x)
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)
        grad = on_both(values(ours.shape, "special", 1), lm.float32)
        ours, theirs = (elements(apply("avg_pool_grad", one, **kwargs)) for one in grad)
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)


def resampled(
    length: int, count: int, mode: ResampleMode, step: tuple[int, int] | None = None
) -> ResampleAxis:
    return ResampleAxis(length, count, mode, step or (length, count), False)


TABLES: list[tuple[ResampleAxis, ...]] = [
    (resampled(5, 9, "nearest"), resampled(40, 33, "nearest")),
    (resampled(5, 10, "linear"), resampled(17, 34, "linear")),
    (resampled(9, 4, "linear"), resampled(50, 20, "linear")),
    (resampled(1, 5, "cubic"), resampled(20, 47, "cubic")),
    (resampled(8, 3, "cubic"), resampled(2, 2, "cubic")),
    (resampled(7, 3, "mean"), resampled(33, 5, "mean")),
    (resampled(3, 5, "linear"), resampled(4, 2, "linear"), resampled(6, 13, "linear")),
    (resampled(1500, 5000, "linear"),),
    (resampled(9000, 4100, "mean"),),
    (ResampleAxis(6, 11, "linear", (5, 10), True), ResampleAxis(6, 1, "cubic", (0, 1), True)),
]


@pytest.mark.parametrize("axes", TABLES, ids=str)
def test_resampling_and_its_gradient_are_the_reference(axes: tuple[ResampleAxis, ...]) -> None:
    for dtype in FLOATS:
        allowed = 4 * TOLERANCE[dtype.name]
        for op, lengths in (
            ("resample", [axis.length for axis in axes]),
            ("resample_grad", [axis.count for axis in axes]),
        ):
            x = on_both(values((2, 3, *lengths), "any"), dtype)
            ours, theirs = (elements(apply(op, one, axes=axes)) for one in x)
            np.testing.assert_allclose(ours, theirs, rtol=allowed, atol=allowed)


@pytest.mark.parametrize("axes", TABLES, ids=str)
def test_elements_of_weight_0_do_not_count_whatever_they_are(
    axes: tuple[ResampleAxis, ...],
) -> None:
    for op, lengths in (
        ("resample", [axis.length for axis in axes]),
        ("resample_grad", [axis.count for axis in axes]),
    ):
        x = on_both(values((1, 2, *lengths), "special"), lm.float64)
        ours, theirs = (elements(apply(op, one, axes=axes)) for one in x)
        np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-13)


@pytest.mark.usefixtures("keeps_denormals")
def test_nearest_copies_to_the_bit() -> None:
    x = lm.tensor([[[-0.0, np.inf, 5e-324]]], dtype=lm.float64)
    axes = (resampled(3, 6, "nearest"),)
    y = elements(apply("resample", x, axes=axes))
    assert y.tobytes() == np.array([[[-0.0, -0.0, np.inf, np.inf, 5e-324, 5e-324]]]).tobytes()


@pytest.mark.parametrize("axes", [*EVEN[::3], *UNEVEN], ids=str)
def test_bits_do_not_depend_on_the_number_of_threads(axes: tuple[PoolAxis, ...]) -> None:
    shape = (5, 7, *(axis.length for axis in axes))
    x = lm.tensor(values(shape, "any"), dtype=lm.float32)
    results: list[list[bytes]] = []
    for threads in (1, 2, 3, 8):
        _native.set_num_threads(threads)
        y, places = apply("max_pool", x, axes=axes)
        made = [y, places, apply("max_pool_grad", y, places, axes=axes)]
        if axes in EVEN:
            kwargs = {"axes": axes, "counts_padding": True, "divisor": None}
            mean = apply("avg_pool", x, **kwargs)
            made += [mean, apply("avg_pool_grad", mean, **kwargs)]
        else:
            tables = tuple(resampled(axis.length, axis.count, "mean") for axis in axes)
            mean = apply("resample", x, axes=tables)
            made += [mean, apply("resample_grad", mean, axes=tables)]
        results.append([elements(one).tobytes() for one in made])
    assert all(result == results[0] for result in results)


@on_every_isa
def test_every_instruction_set_passes(isa: str) -> None:
    check_passes(isa, __file__, "not threads")
