"""Random chains of views, then reductions, arithmetic, products, casts and writes: as NumPy."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lumus as lm

FLOATS = [np.float64, np.float32, np.float16]
INTS = [np.int64, np.int32, np.int16, np.int8, np.uint8]
TOLERANCE = {np.float64: 1e-11, np.float32: 3e-5, np.float16: 2e-2}
BINARY = {
    "+": (np.add, operator.add),
    "-": (np.subtract, operator.sub),
    "*": (np.multiply, operator.mul),
    "/": (np.divide, operator.truediv),
    "//": (np.floor_divide, operator.floordiv),
    "%": (np.remainder, operator.mod),
    "<": (np.less, operator.lt),
    "==": (np.equal, operator.eq),
    ">=": (np.greater_equal, operator.ge),
    "maximum": (np.maximum, lm.maximum),
    "minimum": (np.minimum, lm.minimum),
}
REDUCTIONS = {
    "f": ["sum", "prod", "max", "min", "mean", "var"],
    "i": ["sum", "prod", "max", "min"],
    "u": ["sum", "prod", "max", "min"],
    "b": ["sum", "any", "all"],
}
CASTS = [
    (np.float64, lm.float64),
    (np.float32, lm.float32),
    (np.float16, lm.float16),
    (np.int64, lm.int64),
    (np.int8, lm.int8),
    (np.uint8, lm.uint8),
    (np.bool_, lm.bool_),
]


class Draw:
    """Shapes, values and views from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def one_of(self, values: list[Any]) -> Any:
        return values[int(self.random.integers(len(values)))]

    def happens(self, chance: float) -> bool:
        return bool(self.random.random() < chance)

    def below(self, bound: int) -> int:
        return int(self.random.integers(bound))

    def shape(self) -> tuple[int, ...]:
        if self.happens(0.1):  # long enough for vectors and their tails
            return tuple(self.one_of([1, 17, 33, 64]) for _ in range(self.below(3)))
        return tuple(self.one_of([0, 1, 1, 2, 3, 4, 5, 7]) for _ in range(self.below(5)))

    def array(self, shape: tuple[int, ...], dtype: Any) -> Any:
        if dtype is np.bool_:
            return np.asarray(self.random.random(shape) < 0.5)
        if dtype not in FLOATS:
            least = max(-50, np.iinfo(dtype).min)
            return np.asarray(self.random.integers(least, 50, size=shape)).astype(dtype)
        values = np.asarray(self.random.standard_normal(shape) * self.one_of([1, 10])).astype(dtype)
        if values.size and self.happens(0.15):
            odd = self.one_of([np.nan, np.inf, -np.inf, 0.0, -0.0])
            values.reshape(-1)[self.below(values.size)] = odd
        return values

    def finite(self, shape: tuple[int, ...], dtype: Any) -> Any:
        values = self.array(shape, dtype)
        return np.asarray(np.where(np.isfinite(values), values, 1)).astype(dtype)

    def step(self, array: Any, tensor: Any) -> tuple[Any, Any]:
        """The same view of both."""
        kind = self.below(8)
        if kind == 0:
            order = tuple(int(axis) for axis in self.random.permutation(array.ndim))
            return array.transpose(order), tensor.permute_dims(order)
        if kind == 1:
            ends = [None, *range(-4, 5)]
            index = tuple(
                slice(self.one_of(ends), self.one_of(ends), self.one_of([1, 2, 3, -1, -2]))
                for _ in array.shape
            )
            return array[index], tensor[index]
        if kind == 2 and array.ndim < 6:
            axis = self.below(array.ndim + 1)
            return np.expand_dims(array, axis), tensor.expand_dims(axis)
        if kind == 3 and array.ndim < 6 and array.size < 5000:
            shape = tuple(3 if n == 1 and self.happens(0.6) else n for n in array.shape)
            shape = (2, *shape) if self.happens(0.3) else shape
            return np.broadcast_to(array, shape), tensor.broadcast_to(shape)
        if kind == 4 and array.size:
            divisors = [one for one in range(1, array.size + 1) if array.size % one == 0]
            rows = self.one_of(divisors)
            return array.reshape((rows, -1)), tensor.reshape(rows, -1)
        if kind == 5:
            return np.squeeze(array), tensor.squeeze()
        if array.ndim == 0:
            return array, tensor
        axis = self.below(2 * array.ndim) - array.ndim
        if kind == 6 or not array.shape[axis]:
            return np.flip(array, axis), tensor.flip(axis)
        index = (slice(None),) * (axis % array.ndim) + (self.below(array.shape[axis]),)
        return np.asarray(array[index]), tensor[index]

    def views(self, array: Any, tensor: Any) -> tuple[Any, Any]:
        for _ in range(self.below(5)):
            array, tensor = self.step(array, tensor)
        return array, tensor

    def axes(self, ndim: int) -> Any:
        kind = self.below(3)
        if kind == 0:
            return None
        if kind == 1 and ndim:
            return self.below(2 * ndim) - ndim
        chosen = self.random.permutation(ndim)[: self.below(ndim + 1)]
        return tuple(int(axis) for axis in chosen)


def _assert_same(got: Any, wanted: Any, told: str, tolerance: float = 0.0) -> None:
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype), told
    if tolerance:
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(got, wanted, tolerance, tolerance, err_msg=told)
    else:
        np.testing.assert_array_equal(got, wanted, err_msg=told)


def _cases(seed: int) -> Iterator[tuple[Draw, Any, Any, Any, str]]:
    draw = Draw(seed)
    for _ in range(60):
        dtype = draw.one_of([*FLOATS, *INTS, np.bool_])
        whole = draw.array(draw.shape(), dtype)
        array, tensor = draw.views(whole, lm.from_numpy(whole))
        told = f"{array.dtype} {array.shape} {array.strides}"
        with np.errstate(all="ignore"), warnings.catch_warnings():
            # NumPy warns of means of nothing, and of overflow.
            warnings.simplefilter("ignore", RuntimeWarning)
            yield draw, dtype, array, tensor, told


SEEDS = pytest.mark.parametrize("seed", range(4))


@SEEDS
def test_random_reductions_are_numpys(seed: int) -> None:
    for draw, dtype, array, tensor, told in _cases(seed):
        _assert_same(tensor, array, told)
        name, axes = draw.one_of(REDUCTIONS[array.dtype.kind]), draw.axes(array.ndim)
        keepdims = draw.happens(0.5)
        where = f"{name} axis={axes} {told}"
        reduced = array.shape if axes is None else np.take(array.shape, axes)
        count = np.prod(reduced, dtype=int)
        if name in ("max", "min") and count == 0:
            with pytest.raises(lm.errors.ShapeError):
                getattr(tensor, name)(axis=axes)
            continue
        wide = array.astype(np.float64) if dtype in FLOATS else array
        options = {"dtype": np.int64} if name in ("sum", "prod") and dtype not in FLOATS else {}
        wanted = np.asarray(getattr(np, name)(wide, axis=axes, keepdims=keepdims, **options))
        if name == "prod" and dtype in FLOATS and not np.isfinite(wanted).all():
            continue  # on the way to infinity the order decides
        wanted = wanted.astype(dtype) if dtype in FLOATS else wanted
        tolerance = 10 * TOLERANCE.get(dtype, 0.0)
        got = getattr(tensor, name)(axis=axes, keepdims=keepdims)
        _assert_same(got, wanted, where, tolerance)
        if array.ndim and array.size and dtype is not np.bool_:
            axis = draw.below(array.ndim)
            _assert_same(tensor.argmax(axis), array.argmax(axis), told)
            _assert_same(tensor.argmin(axis), array.argmin(axis), told)


@SEEDS
def test_random_arithmetic_is_numpys(seed: int) -> None:
    for draw, dtype, array, tensor, told in _cases(seed):
        shape = tuple(n if draw.happens(0.6) else 1 for n in array.shape)
        other = draw.array(shape[draw.below(array.ndim + 1) :], dtype)
        other, others = other.T, lm.from_numpy(other.T)
        name = draw.one_of(list(BINARY))
        if dtype is np.bool_ or (name == "/" and dtype not in FLOATS):
            continue
        try:
            wanted = BINARY[name][0](array, other)
        except ValueError:
            with pytest.raises(lm.errors.ShapeError):
                BINARY[name][1](tensor, others)
            continue
        tolerance = 2e-3 if dtype is np.float16 else 0.0  # NumPy's // and % of halves round twice
        _assert_same(BINARY[name][1](tensor, others), wanted, f"{name} {told}", tolerance)


@SEEDS
def test_random_products_are_numpys(seed: int) -> None:
    for draw, dtype, array, _, told in _cases(seed):
        if not array.ndim or dtype is np.bool_:
            continue
        inner, columns = array.shape[-1], draw.one_of([0, 1, 2, 5, 19])
        batch = tuple(n if draw.happens(0.6) else 1 for n in array.shape[:-2])
        shape = (inner,) if draw.happens(0.2) else (*batch, inner, columns)
        left = np.asarray(np.where(np.isfinite(array), array, 1)).astype(dtype)
        right = draw.finite(shape, dtype)
        if right.ndim > 1 and draw.happens(0.5):
            right = np.ascontiguousarray(right.swapaxes(-1, -2)).swapaxes(-1, -2)
        if dtype in FLOATS:
            wanted = np.matmul(left.astype(np.float64), right.astype(np.float64)).astype(dtype)
        else:
            wanted = np.matmul(left, right)
        tolerance = TOLERANCE.get(dtype, 0.0) * max(10, inner)
        got = lm.from_numpy(left) @ lm.from_numpy(right)
        _assert_same(got, wanted, f"{told} @ {right.shape}", tolerance)


@SEEDS
def test_random_joins_and_cuts_are_numpys(seed: int) -> None:
    for draw, dtype, array, tensor, told in _cases(seed):
        if not array.ndim:
            continue
        axis = draw.below(array.ndim)
        shapes = [
            tuple(draw.below(4) if place == axis else n for place, n in enumerate(array.shape))
            for _ in range(draw.below(4))
        ]
        parts = [draw.array(shape, dtype) for shape in shapes]
        wanted = np.concatenate([array, *parts], axis)
        _assert_same(lm.concat([tensor, *map(lm.tensor, parts)], axis), wanted, told)
        _assert_same(lm.stack([tensor, tensor], axis), np.stack([array, array], axis), told)
        length = wanted.shape[axis]
        first, second = sorted((draw.below(length + 1), draw.below(length + 1)))
        sizes = [first, second - first, length - second]
        pieces = lm.from_numpy(wanted).split(sizes, axis)
        for got, piece in zip(pieces, np.split(wanted, [first, second], axis), strict=True):
            _assert_same(got, piece, told)


@SEEDS
def test_random_casts_are_numpys_but_saturate(seed: int) -> None:
    for _, dtype, array, tensor, told in _cases(seed):
        for target, named in CASTS:
            if dtype in FLOATS and np.dtype(target).kind in "iu":
                least, most = np.iinfo(target).min, np.iinfo(target).max
                wide = np.nan_to_num(np.trunc(array.astype(np.float64)), nan=0.0)
                whole = np.clip(wide, -(2.0**62), 2.0**62).astype(np.int64)
                wanted = np.where(wide >= most, most, np.where(wide <= least, least, whole))
                wanted = np.asarray(wanted).astype(target)
            else:
                wanted = array.astype(target)
            _assert_same(tensor.astype(named), wanted, f"{told} as {named}")


@SEEDS
def test_random_writes_into_views_are_numpys(seed: int) -> None:
    draw = Draw(seed)
    for _ in range(60):
        dtype = draw.one_of([*FLOATS, *INTS])
        whole = draw.finite(draw.shape(), dtype)
        shared = lm.from_numpy(whole.copy())
        part, view = draw.views(whole, shared)
        told = f"{part.dtype} {part.shape} {part.strides}"
        writable = part.flags.writeable and np.shares_memory(part, whole)
        if not writable or not np.shares_memory(np.asarray(view), np.asarray(shared)):
            continue
        values = draw.finite(part.shape, dtype)
        part[...] = values
        view.copy_(lm.tensor(values))
        _assert_same(shared, whole, f"copy_ {told}")
        if part.ndim:  # the operand overlaps the target, the other way round
            with np.errstate(all="ignore"):
                part += part[::-1].copy()
            view.add_(view[::-1])
            _assert_same(shared, whole, f"add_ {told}")
            if part.shape[0] > 1:
                part[1:] = part[:-1].copy()
                view[1:] = view[:-1]
                _assert_same(shared, whole, f"[1:] = [:-1] {told}")
