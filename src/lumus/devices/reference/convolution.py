"""Convolutions tap by tap: what one tap sees is a strided slice of the input."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from lumus.core import kernels as k
from lumus.core.broadcast import Shape
from lumus.core.kernels.kernel import Kernel
from lumus.core.spec import Spec
from lumus.devices.reference.arrays import widened
from lumus.devices.reference.scalar import Array

Place: TypeAlias = Any
"""An index of an array that picks elements along its last axes."""


def _taps(
    kernel: Any, taps: Shape, positions: Shape, size: Shape
) -> Iterator[tuple[Place, Place, Place]]:
    """Each tap, the positions at which it sees something, and what it sees of the input.

    Beyond the ends of the input there is nothing, so these positions are left out.
    """
    for tap in np.ndindex(*taps):
        outside: list[slice] = []
        inside: list[slice] = []
        for axis, place in enumerate(tap):
            step = kernel.stride[axis]
            shift = place * kernel.dilation[axis] - kernel.padding[axis]
            first = min(max(-(shift // step), 0), positions[axis])
            end = max(min((size[axis] - 1 - shift) // step + 1, positions[axis]), first)
            start = first * step + shift
            outside.append(slice(first, end))
            inside.append(slice(start, start + (end - first - 1) * step + 1, step))
            if first == end:
                break
        else:
            yield (..., *tap), (..., *outside), (..., *inside)


def _grouped(array: Array, groups: int, axis: int) -> Array:
    """An axis cut into (groups, rest)."""
    shape = array.shape
    rest = shape[axis] // groups
    return array.reshape(*shape[:axis], groups, rest, *shape[axis + 1 :])


def _with_bias(y: Array, bias: Sequence[Array]) -> Array:
    return y + widened(bias[0]).reshape(-1, *[1] * (y.ndim - 2)) if bias else y


def convolution(kernel: k.Convolution, arrays: Sequence[Array], output: Spec) -> Array:
    """For each tap the products of all channels."""
    x, weight, *bias = map(widened, arrays)
    taps, positions = weight.shape[2:], output.shape[2:]
    inputs, weights = _grouped(x, kernel.groups, 1), _grouped(weight, kernel.groups, 0)
    y = np.zeros((x.shape[0], kernel.groups, weights.shape[1], *positions))
    for tap, at, seen in _taps(kernel, taps, positions, x.shape[2:]):
        y[at] += np.einsum("ngi...,goi->ngo...", inputs[seen], weights[tap])
    return _with_bias(y.reshape(output.shape), bias)


def convolution_transpose(
    kernel: k.ConvolutionTranspose, arrays: Sequence[Array], output: Spec
) -> Array:
    """For each tap the products added where it stands."""
    y, weight, *bias = map(widened, arrays)
    taps, positions, size = weight.shape[2:], y.shape[2:], output.shape[2:]
    outputs, weights = _grouped(y, kernel.groups, 1), _grouped(weight, kernel.groups, 0)
    x = np.zeros((y.shape[0], kernel.groups, weight.shape[1], *size))
    for tap, at, seen in _taps(kernel, taps, positions, size):
        x[seen] += np.einsum("ngo...,goi->ngi...", outputs[at], weights[tap])
    return _with_bias(x.reshape(output.shape), bias)


def convolution_weight(kernel: k.ConvolutionWeight, arrays: Sequence[Array], output: Spec) -> Array:
    """For each tap the products of what it sees with the gradient."""
    x, grad = map(widened, arrays)
    taps, positions = output.shape[2:], grad.shape[2:]
    inputs, grads = _grouped(x, kernel.groups, 1), _grouped(grad, kernel.groups, 1)
    result = np.zeros((kernel.groups, grads.shape[2], inputs.shape[2], *taps))
    for tap, at, seen in _taps(kernel, taps, positions, x.shape[2:]):
        flat = [one.reshape(*one.shape[:3], math.prod(one.shape[3:]))
                for one in (inputs[seen], grads[at])]  # fmt: skip
        result[tap] = np.einsum("ngip,ngop->goi", *flat)
    return result.reshape(output.shape)


def _exchanged(columns: Array, rank: int) -> Array:
    """The axes of positions and of taps exchanged."""
    return np.moveaxis(columns, tuple(range(2, 2 + rank)), tuple(range(2 + rank, 2 + 2 * rank)))


def im2col(kernel: k.Im2col, arrays: Sequence[Array], output: Spec) -> Array:
    """What each tap sees is a row of every channel."""
    x, rank = widened(arrays[0]), len(kernel.taps)
    # Taps last, as weights have them.
    columns = np.zeros((*x.shape[:2], *kernel.positions, *kernel.taps))
    for tap, at, seen in _taps(kernel, kernel.taps, kernel.positions, x.shape[2:]):
        columns[tap][at] = x[seen]
    return _exchanged(columns, rank).reshape(output.shape)


def col2im(kernel: k.Col2im, arrays: Sequence[Array], output: Spec) -> Array:
    """Each tap's rows are added to what it sees."""
    rank, shape = len(kernel.taps), output.shape[:2]
    columns = _exchanged(widened(arrays[0]).reshape(*shape, *kernel.taps, *kernel.positions), rank)
    picture = np.zeros(output.shape)
    for tap, at, seen in _taps(kernel, kernel.taps, kernel.positions, kernel.size):
        picture[seen] += columns[tap][at]
    return picture


TABLE: dict[type[Kernel], Callable[[Any, Sequence[Array], Any], Any]] = {
    k.Col2im: col2im,
    k.Convolution: convolution,
    k.ConvolutionTranspose: convolution_transpose,
    k.ConvolutionWeight: convolution_weight,
    k.Im2col: im2col,
}
