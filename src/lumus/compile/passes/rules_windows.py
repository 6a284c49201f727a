"""Rules of the kernels that slide windows: convolution, pooling, resampling."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from lumus.compile.passes.operands import (
    Specs,
    check,
    check_equal,
    check_kind,
)
from lumus.core import kernels
from lumus.core.broadcast import Shape
from lumus.core.dtypes import DType, int32, promote, uint8
from lumus.core.kernels.pool import PoolAxis
from lumus.core.resampling import ResampleAxis
from lumus.core.spec import Spec, spec_of

MAX_LENGTH = 2**31 - 1
"""Places along an axis are counted in 32 bits by some of these kernels."""

MAX_WINDOWS = 1 << 20
"""How many windows are looked at one by one."""


def _check_relation(kernel: Any, size: Shape, positions: Shape, taps: Shape) -> None:
    """That windows of `taps` at `positions` do not begin beyond an input of `size`."""
    rank = len(size)
    check(1 <= rank <= 3, f"{rank} spatial axes")
    for numbers in (positions, taps, kernel.stride, kernel.padding, kernel.dilation):
        check_equal(len(numbers), rank)
    for axis in range(rank):
        stride, padding, dilation = (
            kernel.stride[axis],
            kernel.padding[axis],
            kernel.dilation[axis],
        )
        check(0 < stride <= MAX_LENGTH, f"a stride of {stride}")
        check(0 < dilation <= MAX_LENGTH, f"a dilation of {dilation}")
        check(0 <= padding <= MAX_LENGTH, f"a padding of {padding}")
        for count in (size[axis], positions[axis], taps[axis]):
            check(0 <= count <= MAX_LENGTH, f"{count} places along an axis")
        # "same" padding of windows with an even number of taps has one more cell behind.
        room = size[axis] + 2 * padding + 1 - dilation * (taps[axis] - 1) - 1
        most = max(room // stride + 1, 0)
        check(positions[axis] <= most, f"{positions[axis]} windows where {most} fit")


def _promoted(specs: Specs) -> DType[Any]:
    dtype = specs[0].dtype
    for one in specs[1:]:
        dtype = promote(dtype, one.dtype, "convolution")
    check(dtype.kind == "float", f"a convolution of {dtype.name}")
    return dtype


def _check_bias(inputs: Specs, channels: int) -> None:
    check(len(inputs) in (2, 3), f"{len(inputs)} operands")
    for bias in inputs[2:]:
        check_equal(bias.shape, (channels,))


def _divided(count: int, groups: int) -> int:
    check(groups >= 1, f"{groups} groups")
    check(count % groups == 0, f"{count} channels in {groups} groups")
    return count // groups


def _convolution(kernel: kernels.Convolution, inputs: Specs, outputs: Specs) -> Spec:
    x, weight = inputs[:2]
    positions = outputs[0].shape[2:]
    _check_relation(kernel, x.shape[2:], positions, weight.shape[2:])
    _check_bias(inputs, weight.shape[0])
    check_equal(weight.shape[1], _divided(x.shape[1], kernel.groups))
    _divided(weight.shape[0], kernel.groups)
    return spec_of((x.shape[0], weight.shape[0], *positions), _promoted(inputs), x.device)


def _transpose(kernel: kernels.ConvolutionTranspose, inputs: Specs, outputs: Specs) -> Spec:
    y, weight = inputs[:2]
    size = outputs[0].shape[2:]
    _check_relation(kernel, size, y.shape[2:], weight.shape[2:])
    channels = weight.shape[1] * kernel.groups
    _check_bias(inputs, channels)
    check_equal(y.shape[1], weight.shape[0])
    _divided(y.shape[1], kernel.groups)
    return spec_of((y.shape[0], channels, *size), _promoted(inputs), y.device)


def _weight(kernel: kernels.ConvolutionWeight, inputs: Specs, outputs: Specs) -> Spec:
    x, y = inputs
    taps = outputs[0].shape[2:]
    _check_relation(kernel, x.shape[2:], y.shape[2:], taps)
    check_equal(y.shape[0], x.shape[0])
    _divided(y.shape[1], kernel.groups)
    shape = (y.shape[1], _divided(x.shape[1], kernel.groups), *taps)
    return spec_of(shape, _promoted(inputs), x.device)


def _im2col(kernel: kernels.Im2col, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    check_kind(x, "float")
    _check_relation(kernel, x.shape[2:], kernel.positions, kernel.taps)
    batch, channels = x.shape[:2]
    rows = channels * math.prod(kernel.taps)
    return x.with_shape((batch, rows, math.prod(kernel.positions)))


def _col2im(kernel: kernels.Col2im, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    check_kind(x, "float")
    _check_relation(kernel, kernel.size, kernel.positions, kernel.taps)
    batch, rows, columns = x.shape
    check_equal(columns, math.prod(kernel.positions))
    taps = math.prod(kernel.taps)
    check(taps, "windows without taps")
    return x.with_shape((batch, _divided(rows, taps), *kernel.size))


def _check_pool(axes: tuple[PoolAxis, ...]) -> None:
    """That windows are windows, and each has an element."""
    check(1 <= len(axes) <= 3, f"{len(axes)} axes")
    for axis in axes:
        check(1 <= axis.length <= MAX_LENGTH, f"windows along {axis.length} elements")
        check(1 <= axis.count <= MAX_LENGTH, f"{axis.count} windows")
        check(1 <= axis.window <= MAX_LENGTH, f"windows of {axis.window} taps")
        check(0 <= axis.padding <= MAX_LENGTH, f"a padding of {axis.padding}")
        check(1 <= axis.dilation <= MAX_LENGTH, f"a dilation of {axis.dilation}")
        if axis.stride == 0:
            _check_divided(axis)
            continue
        check(1 <= axis.stride <= MAX_LENGTH, f"a stride of {axis.stride}")
        check(axis.first(axis.count - 1) < axis.length, "a window begins behind the axis")
        before = min(axis.count, -(-axis.padding // axis.stride))
        check(before <= MAX_WINDOWS, f"{before} windows begin in the padding")
        for window in range(before):
            check(axis.taps(window), f"window {window} has no element")
    check(math.prod([axis.window for axis in axes]) <= MAX_LENGTH, "too many taps")


def _check_divided(axis: PoolAxis) -> None:
    check_equal((axis.padding, axis.dilation), (0, 1))
    check(axis.count <= MAX_WINDOWS, f"{axis.count} windows that divide an axis")
    check_equal(axis.window, max(len(axis.taps(window)) for window in range(axis.count)))


def _pooled(spec: Spec, axes: tuple[Any, ...]) -> Spec:
    """The spec of what has an element for each window along the last axes."""
    kept = _kept(spec, axes)
    check_equal(spec.shape[len(kept) :], tuple([axis.length for axis in axes]))
    return spec.with_shape((*kept, *[axis.count for axis in axes]))


def _unpooled(spec: Spec, axes: tuple[Any, ...]) -> Spec:
    """The spec of what the windows are on."""
    kept = _kept(spec, axes)
    check_equal(spec.shape[len(kept) :], tuple([axis.count for axis in axes]))
    return spec.with_shape((*kept, *[axis.length for axis in axes]))


def _kept(spec: Spec, axes: tuple[Any, ...]) -> Shape:
    check_kind(spec, "float")
    check(len(axes) <= spec.ndim, f"{len(axes)} axes of {spec!r}")
    return spec.shape[: spec.ndim - len(axes)]


def _check_places(places: Spec, windows: Spec, axes: tuple[PoolAxis, ...]) -> None:
    taps = math.prod([axis.window for axis in axes])
    check_equal(places, windows.with_dtype(uint8 if taps <= 256 else int32))


def _max_pool(kernel: kernels.MaxPool, inputs: Specs, outputs: Specs) -> Specs:
    (x,) = inputs
    _check_pool(kernel.axes)
    y = _pooled(x, kernel.axes)
    _check_places(outputs[-1], y, kernel.axes)
    return (y, outputs[-1])


def _max_pool_grad(kernel: kernels.MaxPoolGrad, inputs: Specs, outputs: Specs) -> Spec:
    grad, places = inputs
    _check_pool(kernel.axes)
    _check_places(places, grad, kernel.axes)
    return _unpooled(grad, kernel.axes)


def _max_pool_take(kernel: kernels.MaxPoolTake, inputs: Specs, outputs: Specs) -> Spec:
    x, places = inputs
    _check_pool(kernel.axes)
    y = _pooled(x, kernel.axes)
    _check_places(places, y, kernel.axes)
    return y


def _check_mean(kernel: Any) -> None:
    _check_pool(kernel.axes)
    check(all(axis.dilation == 1 for axis in kernel.axes), "a mean of taps that are apart")
    check(kernel.divisor is None or kernel.divisor != 0, "a division by 0")


def _mean_pool(kernel: kernels.MeanPool, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    _check_mean(kernel)
    return _pooled(x, kernel.axes)


def _mean_pool_grad(kernel: kernels.MeanPoolGrad, inputs: Specs, outputs: Specs) -> Spec:
    (grad,) = inputs
    _check_mean(kernel)
    return _unpooled(grad, kernel.axes)


def _check_resampled(axes: tuple[ResampleAxis, ...]) -> None:
    check(1 <= len(axes) <= 3, f"{len(axes)} axes")
    for axis in axes:
        step, unit = axis.step
        check(1 <= axis.length <= MAX_LENGTH, f"{axis.length} elements")
        check(1 <= axis.count <= MAX_LENGTH, f"{axis.count} elements")
        check(unit >= 1, f"a step of {step} / {unit}")
        check(step >= (1 if axis.antialias else 0), f"a step of {step} / {unit}")
        check(step * axis.count < 2**61, f"a step of {step} / {unit}")
        check(unit < 2**61, f"a step of {step} / {unit}")


def _resample(kernel: kernels.Resample, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    _check_resampled(kernel.axes)
    return _pooled(x, kernel.axes)


def _resample_grad(kernel: kernels.ResampleGrad, inputs: Specs, outputs: Specs) -> Spec:
    (grad,) = inputs
    _check_resampled(kernel.axes)
    return _unpooled(grad, kernel.axes)


RULES: dict[type[Any], Callable[[Any, Specs, Specs], Spec | Specs]] = {
    kernels.Col2im: _col2im,
    kernels.Convolution: _convolution,
    kernels.ConvolutionTranspose: _transpose,
    kernels.ConvolutionWeight: _weight,
    kernels.Im2col: _im2col,
    kernels.MaxPool: _max_pool,
    kernels.MaxPoolGrad: _max_pool_grad,
    kernels.MaxPoolTake: _max_pool_take,
    kernels.MeanPool: _mean_pool,
    kernels.MeanPoolGrad: _mean_pool_grad,
    kernels.Resample: _resample,
    kernels.ResampleGrad: _resample_grad,
}
