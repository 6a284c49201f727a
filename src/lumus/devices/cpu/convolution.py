"""Convolutions on the native kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lumus import _native
from lumus.core import convolution_kernels as k
from lumus.core.broadcast import Shape
from lumus.core.device import Run
from lumus.core.kernels import Kernel
from lumus.core.spec import Spec

Specs = tuple[Spec, ...]


def _converted(run: Run, inputs: Specs, outputs: Specs) -> Run:
    """`run` on inputs of the output's dtype."""
    code = outputs[0].dtype.code
    if all(spec.dtype is outputs[0].dtype for spec in inputs):
        return run
    return lambda *data: run(*[_native.cast(one, code) for one in data])


def _native_convolution(
    kernel: Any, size: Shape, positions: Shape, taps: Shape, groups: int = 1
) -> _native.Convolution:
    return _native.Convolution(
        size, positions, taps, kernel.stride, kernel.padding, kernel.dilation, groups
    )


def _forward(kernel: k.Convolution, inputs: Specs, outputs: Specs) -> Run:
    sizes = (inputs[0].shape[2:], outputs[0].shape[2:], inputs[1].shape[2:])
    run = _native_convolution(kernel, *sizes, kernel.groups).forward
    return _converted(run, inputs, outputs)


def _transpose(kernel: k.ConvolutionTranspose, inputs: Specs, outputs: Specs) -> Run:
    sizes = (outputs[0].shape[2:], inputs[0].shape[2:], inputs[1].shape[2:])
    run = _native_convolution(kernel, *sizes, kernel.groups).transpose
    return _converted(run, inputs, outputs)


def _weight(kernel: k.ConvolutionWeight, inputs: Specs, outputs: Specs) -> Run:
    sizes = (inputs[0].shape[2:], inputs[1].shape[2:], outputs[0].shape[2:])
    run = _native_convolution(kernel, *sizes, kernel.groups).weight
    return _converted(run, inputs, outputs)


def _im2col(kernel: k.Im2col, inputs: Specs, outputs: Specs) -> Run:
    return _native_convolution(kernel, inputs[0].shape[2:], kernel.positions, kernel.taps).im2col


def _col2im(kernel: k.Col2im, inputs: Specs, outputs: Specs) -> Run:
    return _native_convolution(kernel, kernel.size, kernel.positions, kernel.taps).col2im


TABLE: dict[type[Kernel], Callable[[Any, Specs, Specs], Run]] = {
    k.Col2im: _col2im,
    k.Convolution: _forward,
    k.ConvolutionTranspose: _transpose,
    k.ConvolutionWeight: _weight,
    k.Im2col: _im2col,
}
