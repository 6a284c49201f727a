"""Tensors made of nothing, on each device, against NumPy's functions of the same names."""

from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.core.dtypes import ALL, DType
from lumus.testing.sweep import elements
from tests.conformance.specs.cast import nearest

DEVICES = pytest.mark.parametrize("device", ["cpu", "reference"])
FLOATS = (lm.float64, lm.float32, lm.float16, lm.bfloat16)
INTS = (lm.int64, lm.int32, lm.int16, lm.int8, lm.uint8)


def check(made: Any, want: Any, dtype: DType, device: str) -> None:
    assert (made.dtype, made.device.name, made.shape) == (dtype, device, np.shape(want))
    if dtype.kind == "float":
        rounded = [nearest(float(one), dtype) for one in np.ravel(want)]
        want = np.array(rounded).reshape(np.shape(want))
    np.testing.assert_array_equal(elements(made), want)


@DEVICES
@pytest.mark.parametrize("dtype", ALL, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_full_zeros_ones_are_numpys(dtype: DType, device: str, shape: tuple[int, ...]) -> None:
    value = {"float": 0.3, "int": 7, "bool": True}[dtype.kind]
    made = lm.full(shape, value, dtype=dtype, device=device)
    check(made, np.full(shape, value), dtype, device)
    check(lm.zeros(shape, dtype=dtype, device=device), np.zeros(shape), dtype, device)
    check(lm.ones(shape, dtype=dtype, device=device), np.ones(shape), dtype, device)
    check(lm.full_like(made, value), np.full(shape, value), dtype, device)
    check(lm.zeros_like(made), np.zeros(shape), dtype, device)
    check(lm.ones_like(made), np.ones(shape), dtype, device)
    assert lm.empty(shape, dtype=dtype, device=device).shape == shape
    assert lm.empty_like(made).spec is made.spec


@DEVICES
@pytest.mark.parametrize("dtype", INTS, ids=str)
@pytest.mark.parametrize(
    "arguments", [(5,), (2, 9), (0, 10, 3), (9, 0, -2), (0,), (5, 2), (100, 120, 7)]
)
def test_arange_of_ints_is_exact(dtype: DType, device: str, arguments: tuple[int, ...]) -> None:
    made = lm.arange(*arguments, dtype=dtype, device=device)
    check(made, np.arange(*arguments), dtype, device)


@DEVICES
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("arguments", [(0.0, 1.0, 0.125), (1.0, -1.0, -0.25), (0.5,), (3.0, 3.0)])
def test_arange_of_floats_rounds_once(
    dtype: DType, device: str, arguments: tuple[float, ...]
) -> None:
    made = lm.arange(*arguments, dtype=dtype, device=device)
    check(made, np.arange(*arguments), dtype, device)


@DEVICES
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("count", [0, 1, 2, 5, 67])
def test_linspace_reaches_both_ends(dtype: DType, device: str, count: int) -> None:
    made = lm.linspace(-1.0, 0.7, count, dtype=dtype, device=device)
    assert (made.dtype, made.device.name, made.shape) == (dtype, device, (count,))
    want = np.linspace(-1.0, 0.7, count)
    unit = {"float64": 1e-15, "float32": 1e-7, "float16": 1e-3, "bfloat16": 8e-3}[dtype.name]
    np.testing.assert_allclose(elements(made), want, rtol=unit, atol=unit)
    if count > 1:
        ends = elements(made)[[0, -1]].tolist()
        assert ends == [-1.0, nearest(0.7, dtype)]


@DEVICES
@pytest.mark.parametrize("dtype", ALL, ids=str)
@pytest.mark.parametrize("sides", [(3,), (2, 4), (4, 2), (0,), (1, 1)])
def test_eye_is_numpys(dtype: DType, device: str, sides: tuple[int, ...]) -> None:
    check(lm.eye(*sides, dtype=dtype, device=device), np.eye(*sides), dtype, device)


@DEVICES
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("count", [1, 2, 5, 8, 67])
@pytest.mark.parametrize("distance", [1.0, 0.25, -3.0])
def test_frequencies_are_numpys(dtype: DType, device: str, count: int, distance: float) -> None:
    for name in ("fftfreq", "rfftfreq"):
        made = getattr(lm.fft, name)(count, d=distance, dtype=dtype, device=device)
        want = getattr(np.fft, name)(count, distance)
        assert (made.dtype, made.device.name, made.shape) == (dtype, device, want.shape)
        unit = {"float64": 1e-15, "float32": 1e-7, "float16": 1e-3, "bfloat16": 8e-3}[dtype.name]
        np.testing.assert_allclose(elements(made), want, rtol=unit, atol=unit)


@DEVICES
@pytest.mark.parametrize("dtype", ALL, ids=str)
@pytest.mark.parametrize("nothing", [[], [[]], ()])
def test_tensor_of_no_elements_is_of_the_dtype(dtype: DType, device: str, nothing: Any) -> None:
    made = lm.tensor(nothing, dtype=dtype, device=device)
    assert (made.dtype, made.shape) == (dtype, np.shape(nothing))
