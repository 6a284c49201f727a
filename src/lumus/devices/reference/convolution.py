"""Convolutions tap by tap: each tap is a strided slice of the padded input."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from lumus.core import convolution_kernels as k
from lumus.core.broadcast import Shape
from lumus.core.kernels import Kernel
from lumus.core.spec import Spec
from lumus.devices.reference.arrays import widened
from lumus.devices.reference.scalar import Array

Place: TypeAlias = Any
"""An index of an array that picks elements along its last axes."""


def _taps(kernel: Any, taps: Shape, positions: Shape) -> Iterator[tuple[Place, Place]]:
    """Each tap and the padded input positions at which it stands."""
    for tap in np.ndindex(*taps):
        starts = [place * spread for place, spread in zip(tap, kernel.dilation, strict=True)]
        yield (
            (..., *tap),
            (
                ...,
                *(
                    slice(start, start + (count - 1) * step + 1 if count else start, step)
                    for start, count, step in zip(starts, positions, kernel.stride, strict=True)
                ),
            ),
        )


def _padded_size(kernel: Any, size: Shape, taps: Shape, positions: Shape) -> Shape:
    """As many positions as the windows reach over, or the input if that is more."""
    parts = zip(size, taps, positions, kernel.stride, kernel.padding, kernel.dilation, strict=True)
    return tuple(
        max((count - 1) * step + (tap - 1) * spread + 1, zeros + length)
        for length, tap, count, step, zeros, spread in parts
    )


def _inside(kernel: Any, size: Shape) -> Place:
    """Where the input lies on the padded one."""
    pairs = zip(kernel.padding, size, strict=True)
    return (..., *(slice(zeros, zeros + length) for zeros, length in pairs))


def _grouped(array: Array, groups: int, axis: int) -> Array:
    """An axis cut into (groups, rest)."""
    shape = array.shape
    rest = shape[axis] // groups
    return array.reshape(*shape[:axis], groups, rest, *shape[axis + 1 :])


def _padded(kernel: Any, x: Array, taps: Shape, positions: Shape) -> Array:
    padded = np.zeros((*x.shape[:2], *_padded_size(kernel, x.shape[2:], taps, positions)))
    padded[_inside(kernel, x.shape[2:])] = x
    return padded


def _with_bias(y: Array, bias: Sequence[Array]) -> Array:
    return y + widened(bias[0]).reshape(-1, *[1] * (y.ndim - 2)) if bias else y


def convolution(kernel: k.Convolution, arrays: Sequence[Array], output: Spec) -> Array:
    """For each tap the products of all channels."""
    x, weight, *bias = map(widened, arrays)
    taps, positions = weight.shape[2:], output.shape[2:]
    padded = _grouped(_padded(kernel, x, taps, positions), kernel.groups, 1)
    weights = _grouped(weight, kernel.groups, 0)
    y = np.zeros((x.shape[0], kernel.groups, weights.shape[1], *positions))
    for tap, place in _taps(kernel, taps, positions):
        y += np.einsum("ngi...,goi->ngo...", padded[place], weights[tap])
    return _with_bias(y.reshape(output.shape), bias)


def convolution_transpose(
    kernel: k.ConvolutionTranspose, arrays: Sequence[Array], output: Spec
) -> Array:
    """For each tap the products added where it stands."""
    y, weight, *bias = map(widened, arrays)
    taps, positions, size = weight.shape[2:], y.shape[2:], output.shape[2:]
    spread = _padded_size(kernel, size, taps, positions)
    x = np.zeros((y.shape[0], kernel.groups, weight.shape[1], *spread))
    grouped, weights = _grouped(y, kernel.groups, 1), _grouped(weight, kernel.groups, 0)
    for tap, place in _taps(kernel, taps, positions):
        x[place] += np.einsum("ngo...,goi->ngi...", grouped, weights[tap])
    return _with_bias(x[_inside(kernel, size)].reshape(output.shape), bias)


def convolution_weight(kernel: k.ConvolutionWeight, arrays: Sequence[Array], output: Spec) -> Array:
    """For each tap the products of what it sees with the gradient."""
    x, grad = map(widened, arrays)
    taps, positions = output.shape[2:], grad.shape[2:]
    padded = _grouped(_padded(kernel, x, taps, positions), kernel.groups, 1)
    grads = _grouped(grad, kernel.groups, 1)
    count = math.prod(positions)
    result = np.zeros((kernel.groups, grads.shape[2], padded.shape[2], *taps))
    for tap, place in _taps(kernel, taps, positions):
        seen = padded[place].reshape(*padded.shape[:3], count)
        given = grads.reshape(*grads.shape[:3], count)
        result[tap] = np.einsum("ngip,ngop->goi", seen, given)
    return result.reshape(output.shape)


def _exchanged(columns: Array, rank: int) -> Array:
    """The axes of positions and of taps exchanged."""
    return np.moveaxis(columns, tuple(range(2, 2 + rank)), tuple(range(2 + rank, 2 + 2 * rank)))


def im2col(kernel: k.Im2col, arrays: Sequence[Array], output: Spec) -> Array:
    """Each tap's slice is a row of every channel."""
    x = arrays[0]
    padded = _padded(kernel, widened(x), kernel.taps, kernel.positions)
    columns = np.zeros((*x.shape[:2], *kernel.positions, *kernel.taps))
    for tap, place in _taps(kernel, kernel.taps, kernel.positions):
        columns[tap] = padded[place]
    return _exchanged(columns, len(kernel.taps)).reshape(output.shape)


def col2im(kernel: k.Col2im, arrays: Sequence[Array], output: Spec) -> Array:
    """Each tap's rows are added to its slice."""
    columns = widened(arrays[0]).reshape(*output.shape[:2], *kernel.taps, *kernel.positions)
    columns = _exchanged(columns, len(kernel.taps))
    spread = _padded_size(kernel, kernel.size, kernel.taps, kernel.positions)
    picture = np.zeros((*output.shape[:2], *spread))
    for tap, place in _taps(kernel, kernel.taps, kernel.positions):
        picture[place] += columns[tap]
    return picture[_inside(kernel, kernel.size)]


TABLE: dict[type[Kernel], Callable[[Any, Sequence[Array], Any], Any]] = {
    k.Col2im: col2im,
    k.Convolution: convolution,
    k.ConvolutionTranspose: convolution_transpose,
    k.ConvolutionWeight: convolution_weight,
    k.Im2col: im2col,
}
