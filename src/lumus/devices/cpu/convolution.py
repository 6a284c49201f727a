"""Convolutions on the native kernels."""

from __future__ import annotations

from typing import Any

from lumus import _native
from lumus.core import kernels as k
from lumus.core.broadcast import Shape
from lumus.core.kernels.kernel import Kernel
from lumus.devices.cpu.eager import Builder, Specs, StepMaker, eager


def _native_convolution(
    kernel: Any, size: Shape, positions: Shape, taps: Shape, groups: int = 1
) -> _native.Convolution:
    return _native.Convolution(
        size, positions, taps, kernel.stride, kernel.padding, kernel.dilation, groups
    )


def _forward(kernel: k.Convolution, inputs: Specs, outputs: Specs) -> _native.Step:
    sizes = (inputs[0].shape[2:], outputs[0].shape[2:], inputs[1].shape[2:])
    return _native_convolution(kernel, *sizes, kernel.groups).forward_step(len(inputs) == 3)


def _transpose(kernel: k.ConvolutionTranspose, inputs: Specs, outputs: Specs) -> _native.Step:
    sizes = (outputs[0].shape[2:], inputs[0].shape[2:], inputs[1].shape[2:])
    return _native_convolution(kernel, *sizes, kernel.groups).transpose_step(len(inputs) == 3)


def _weight(kernel: k.ConvolutionWeight, inputs: Specs, outputs: Specs) -> _native.Step:
    sizes = (inputs[0].shape[2:], inputs[1].shape[2:], outputs[0].shape[2:])
    return _native_convolution(kernel, *sizes, kernel.groups).weight_step()


def _im2col(kernel: k.Im2col, inputs: Specs, outputs: Specs) -> _native.Step:
    size = inputs[0].shape[2:]
    return _native_convolution(kernel, size, kernel.positions, kernel.taps).im2col_step()


def _col2im(kernel: k.Col2im, inputs: Specs, outputs: Specs) -> _native.Step:
    return _native_convolution(kernel, kernel.size, kernel.positions, kernel.taps).col2im_step()


STEPS: dict[type[Kernel], StepMaker] = {
    k.Col2im: _col2im,
    k.Convolution: _forward,
    k.ConvolutionTranspose: _transpose,
    k.ConvolutionWeight: _weight,
    k.Im2col: _im2col,
}

TABLE: dict[type[Kernel], Builder] = {kernel: eager(maker) for kernel, maker in STEPS.items()}
