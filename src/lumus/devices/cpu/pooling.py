"""Pooling and resampling on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lumus import _native
from lumus.core import kernels as k
from lumus.core.dtypes import DType, float64, int32
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.pool import PoolAxis
from lumus.core.resampling import Table, transposed
from lumus.devices.cpu.eager import Builder, StepMaker, eager


def _pooling(
    axes: tuple[PoolAxis, ...], counts_padding: bool = True, divisor: int | None = None
) -> _native.Pooling:
    made: list[_native.PoolAxis] = []
    for number, axis in enumerate(axes):
        # A divisor that is given is that of the first axis: their product divides.
        given = None if divisor is None else 1.0 if number else float(divisor)
        made.append(
            _native.PoolAxis(
                axis.length,
                axis.count,
                axis.window,
                axis.stride,
                axis.padding,
                axis.dilation,
                counts_padding,
                given,
            )
        )
    return _native.Pooling(tuple(made))


def _mean_pooling(kernel: k.MeanPool | k.MeanPoolGrad) -> _native.Pooling:
    return _pooling(kernel.axes, kernel.counts_padding, kernel.divisor)


def _array(dtype: DType[Any], values: NDArray[Any]) -> _native.Array:
    made = _native.empty(dtype.code, values.shape)
    np.asarray(made)[...] = values
    return made


def _resampling(kernel: k.Resample) -> _native.Step:
    return _resampled([(axis.length, axis.table()) for axis in kernel.axes])


def _resampling_grad(kernel: k.ResampleGrad) -> _native.Step:
    return _resampled([(axis.count, transposed(axis.table(), axis.length)) for axis in kernel.axes])


def _resampled(axes: list[tuple[int, Table]]) -> _native.Step:
    tables = [
        _native.ResampleAxis(length, _array(int32, indices), _array(float64, weights))
        for length, (indices, weights) in axes
    ]
    return _native.Resampling(tuple(tables)).step()


STEPS: dict[type[Kernel], StepMaker] = {
    k.MaxPool: lambda kernel, i, o: _pooling(kernel.axes).max_step(),
    k.MaxPoolGrad: lambda kernel, i, o: _pooling(kernel.axes).max_grad_step(),
    k.MaxPoolTake: lambda kernel, i, o: _pooling(kernel.axes).take_step(),
    k.MeanPool: lambda kernel, i, o: _mean_pooling(kernel).mean_step(),
    k.MeanPoolGrad: lambda kernel, i, o: _mean_pooling(kernel).mean_grad_step(),
    k.Resample: lambda kernel, i, o: _resampling(kernel),
    k.ResampleGrad: lambda kernel, i, o: _resampling_grad(kernel),
}

TABLE: dict[type[Kernel], Builder] = {kernel: eager(maker) for kernel, maker in STEPS.items()}
