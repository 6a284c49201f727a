"""Leaves, gradients and comparisons for the hard cases, which give plain lists of numbers."""

from typing import Any

import numpy as np

import lumus as lm

# From a single element over every tail of the widest vectors to more than two of them.
TAIL_LENGTHS = range(1, 41)


def leaf(values: Any, device: str = "cpu", dtype: Any = lm.float32) -> lm.Tensor[lm.Float]:
    return lm.tensor(values, dtype=dtype, device=device, requires_grad=True)


def constant(values: Any, device: str = "cpu", dtype: Any = None) -> lm.Tensor[Any]:
    return lm.tensor(values, dtype=dtype, device=device)


def elements(value: Any) -> Any:
    """The elements as a NumPy array, bfloat16 as float32."""
    if not isinstance(value, lm.Tensor):
        return np.asarray(value)
    detached = value.detach()
    return (detached.astype(lm.float32) if value.dtype is lm.bfloat16 else detached).numpy()


def gradients(
    result: lm.Tensor[lm.Float], *leaves: lm.Tensor[lm.Float], grad: Any = None
) -> list[Any]:
    """The gradients of `leaves`; `grad` is that of the result, ones by default."""
    given = np.broadcast_to(np.asarray(1.0 if grad is None else grad, np.float64), result.shape)
    store = result.backward(
        lm.tensor(given, dtype=lm.float64, device=result.device).astype(result.dtype)
    )
    return [elements(store[one]) for one in leaves]


def check(value: Any, expected: Any, *, rtol: float = 1e-6, atol: float = 0.0) -> None:
    """Same shape, same NaN, same infinities, and close."""
    got, want = elements(value), np.asarray(expected)
    assert got.shape == want.shape, f"shape {got.shape}, expected {want.shape}"
    np.testing.assert_allclose(got, want, rtol=rtol, atol=atol, equal_nan=True)


def check_exact(value: Any, expected: Any) -> None:
    """Same shape and equal elements (NaN equals NaN)."""
    got, want = elements(value), np.asarray(expected)
    assert got.shape == want.shape, f"shape {got.shape}, expected {want.shape}"
    np.testing.assert_array_equal(got, want)


def check_bits(value: Any, expected: Any) -> None:
    """Equal to the sign of zeros."""
    check_exact(value, expected)
    np.testing.assert_array_equal(np.signbit(elements(value)), np.signbit(np.asarray(expected)))
