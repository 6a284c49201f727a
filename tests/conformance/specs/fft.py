"""Fourier transforms: the sums that they are, written out in 80 bits."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import lumus as lm
from lumus.testing.op_spec import Case, OpSpec, Source

FLOATS = (lm.float64, lm.float32)
WIDE = np.clongdouble


def complex_of(pairs: Any) -> Any:
    wide = np.asarray(pairs).astype(np.longdouble)
    return wide[..., 0] + WIDE(1j) * wide[..., 1]


def pairs_of(numbers: Any) -> Any:
    return np.stack([numbers.real, numbers.imag], axis=-1).astype(np.float64)


def fitted(x: Any, length: int | None, axis: int) -> Any:
    """Cut, or filled up with zeros."""
    if length is None:
        return x
    shape = list(x.shape)
    shape[axis] = length
    result = np.zeros(shape, x.dtype)
    kept = [slice(min(now, then)) for now, then in zip(x.shape, shape, strict=True)]
    result[tuple(kept)] = x[tuple(kept)]
    return result


def summed(x: Any, axis: int, sign: int, norm: str) -> Any:
    """Along one axis; `sign` -1 is forward."""
    length = x.shape[axis]
    turns = np.outer(np.arange(length), np.arange(length)) % length
    angles = 2 * np.pi * turns.astype(np.longdouble) / length
    # NumPy's pi has 53 bits; what it lacks matters in 80.
    angles += turns * np.longdouble("2.4492935982947064e-16") / length
    waves = np.cos(angles) + WIDE(1j) * sign * np.sin(angles)
    result = np.moveaxis(np.moveaxis(x.astype(WIDE), axis, -1) @ waves, -1, axis)
    divided = norm == {-1: "forward", 1: "backward"}[sign]
    return result / (
        np.sqrt(np.longdouble(length)) if norm == "ortho" else length if divided else 1
    )


def fft(x: Any, sign: int, n: Any = None, axis: int = -2, norm: str = "backward") -> Any:
    place = axis if axis >= 0 else axis + 1
    return pairs_of(summed(fitted(complex_of(x), n, place), place, sign, norm))


def fftn(x: Any, sign: int, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
    numbers = complex_of(x)
    if axes is None:
        count = len(s) if s else numbers.ndim
        axes = range(numbers.ndim - count, numbers.ndim)
    places = [axis if axis >= 0 else axis + 1 + numbers.ndim for axis in axes]
    for place, length in zip(places, s or [None] * len(places), strict=True):
        numbers = fitted(numbers, None if length == -1 else length, place)
        numbers = summed(numbers, place, sign, norm)
    return pairs_of(numbers)


def rfft(x: Any, n: Any = None, axis: int = -1, norm: str = "backward") -> Any:
    sums = summed(fitted(x, n, axis), axis, -1, norm)
    return pairs_of(np.take(sums, range(sums.shape[axis] // 2 + 1), axis))


def rfftn(x: Any, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
    if axes is None:
        axes = range(x.ndim - len(s), x.ndim) if s else range(x.ndim)
    axes = list(axes)
    numbers = x
    for axis, length in zip(axes, s or [None] * len(axes), strict=True):
        numbers = summed(fitted(numbers, length, axis), axis, -1, norm)
    return pairs_of(np.take(numbers, range(numbers.shape[axes[-1]] // 2 + 1), axes[-1]))


def mirrored(half: Any, n: Any, axis: int) -> Any:
    """All terms of half a spectrum."""
    length = 2 * (half.shape[axis] - 1) if n is None else n
    half = np.moveaxis(fitted(half, length // 2 + 1, axis), axis, -1)
    whole = np.zeros((*half.shape[:-1], length), WIDE)
    whole[..., 0] = half[..., 0].real
    for place in range(1, half.shape[-1]):
        whole[..., place] += half[..., place] / (2 if 2 * place == length else 1)
        whole[..., length - place] += half[..., place].conj() / (2 if 2 * place == length else 1)
    return np.moveaxis(whole, -1, axis)


def irfft(x: Any, n: Any = None, axis: int = -2, norm: str = "backward") -> Any:
    place = axis if axis >= 0 else axis + 1
    return summed(mirrored(complex_of(x), n, place), place, 1, norm).real.astype(np.float64)


def irfftn(x: Any, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
    numbers = complex_of(x)
    places = [axis % x.ndim for axis in axes] if axes else list(range(numbers.ndim))
    lengths = list(s) if s else [None] * len(places)
    for place, length in zip(places[:-1], lengths[:-1], strict=True):
        numbers = summed(fitted(numbers, length, place), place, 1, norm)
    whole = mirrored(numbers, lengths[-1], places[-1])
    return summed(whole, places[-1], 1, norm).real.astype(np.float64)


def hfft(x: Any, n: Any = None, axis: int = -2, norm: str = "backward") -> Any:
    place = axis if axis >= 0 else axis + 1
    whole = mirrored(complex_of(x), n, place)
    return summed(whole, place, -1, norm).real.astype(np.float64)


def ihfft(x: Any, n: Any = None, axis: int = -1, norm: str = "backward") -> Any:
    sums = summed(fitted(x, n, axis), axis, 1, norm)
    return pairs_of(np.take(sums, range(sums.shape[axis] // 2 + 1), axis))


# ------------------------------------------------------------------------------------------- cases

REAL = (
    ((4,), {}),
    ((5,), {"norm": "ortho"}),
    ((1,), {}),
    ((2,), {"norm": "forward"}),
    ((3, 4), {"n": 6}),
    ((3, 5), {"n": 3, "norm": "ortho"}),
    ((4, 3), {"axis": 0}),
    ((2, 6, 2), {"axis": 1, "n": 7, "norm": "forward"}),
    ((0, 4), {}),
    ((3, 67), {}),
)
COMPLEX = tuple(((*shape, 2), kwargs) for shape, kwargs in REAL)
HALF = (
    *(one for one in COMPLEX if one[0] != (1, 2)),
    ((1, 2), {"n": 1}),
    ((3, 2), {"n": 5}),
)
REAL_N = (
    ((3, 4), {}),
    ((2, 3, 4), {"axes": (0, 2), "norm": "ortho"}),
    ((2, 3, 4), {"s": (4, 5)}),
    ((2, 3, 4), {"s": (3, 2), "axes": (2, 0), "norm": "forward"}),
    ((5,), {}),
    ((0, 3), {"axes": (1,)}),
)
COMPLEX_N = tuple(((*shape, 2), kwargs) for shape, kwargs in REAL_N)
HALF_N = tuple(one for one in COMPLEX_N if one[1].get("s") != (4, 5))


def drawn(calls: Any) -> Callable[[Source], Iterable[Case]]:
    def cases(source: Source) -> Iterable[Case]:
        for shape, kwargs in calls:
            yield Case(f"shape {shape}, {kwargs}", (source.draw(shape),), kwargs)

    return cases


def spec(name: str, formula: Any, calls: Any, **fields: Any) -> OpSpec:
    return OpSpec(
        name=name,
        function=getattr(lm.fft, name),
        formula=formula,
        cases=drawn(calls),
        dtypes=FLOATS,
        absolute=True,
        tolerance=20,
        **fields,
    )


SPECS = [
    spec("fft", lambda x, **kwargs: fft(x, -1, **kwargs), COMPLEX),
    spec("ifft", lambda x, **kwargs: fft(x, 1, **kwargs), COMPLEX, covers=("fft",)),
    spec("fftn", lambda x, **kwargs: fftn(x, -1, **kwargs), COMPLEX_N, covers=("fft",)),
    spec("ifftn", lambda x, **kwargs: fftn(x, 1, **kwargs), COMPLEX_N, covers=("fft",)),
    spec("rfft", rfft, REAL, covers=("irfft",)),
    spec("irfft", irfft, HALF, covers=("rfft",)),
    spec("rfftn", rfftn, REAL_N, covers=("rfft", "fft")),
    spec("irfftn", irfftn, HALF_N, covers=("irfft", "fft")),
    spec("hfft", hfft, HALF, covers=("irfft",)),
    spec("ihfft", ihfft, REAL, covers=("rfft",)),
    OpSpec(
        name="fftshift",
        function=lm.fft.fftshift,
        formula=lambda x, axes=None: np.fft.fftshift(x, axes),
        cases=drawn((((5,), {}), ((4, 3), {}), ((4, 3, 2), {"axes": (0, 1)}), ((0,), {}))),
        dtypes=(*FLOATS, lm.int64),
        tolerance=0,
        covers=("roll",),
    ),
    OpSpec(
        name="ifftshift",
        function=lm.fft.ifftshift,
        formula=lambda x, axes=None: np.fft.ifftshift(x, axes),
        cases=drawn((((5,), {}), ((4, 3), {}), ((4, 3, 2), {"axes": -2}))),
        dtypes=(*FLOATS, lm.int64),
        tolerance=0,
        covers=("roll",),
    ),
]
