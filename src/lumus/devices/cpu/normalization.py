"""Normalisation on the native kernels."""

from __future__ import annotations

from functools import partial

from lumus import _native
from lumus.core import kernels as k
from lumus.core.device import Run
from lumus.core.kernels.kernel import Kernel
from lumus.devices.cpu.eager import Builder, Specs, StepMaker


def _native_of(kernel: k.Normalize | k.NormalizeGrad) -> _native.Normalization:
    return _native.Normalization(
        kernel.extents, kernel.eps, kernel.over == "rows", kernel.is_centered, kernel.is_measured
    )


def _normalize(kernel: k.Normalize, inputs: Specs, outputs: Specs) -> Run:
    return partial(_native_of(kernel).run, kernel.has_weight, kernel.has_bias)


def _normalize_grad(kernel: k.NormalizeGrad, inputs: Specs, outputs: Specs) -> Run:
    weight_shape = outputs[-1].shape if any(kernel.wanted[1:]) else ()
    return partial(_native_of(kernel).run_grad, kernel.has_weight, weight_shape, *kernel.wanted)


TABLE: dict[type[Kernel], Builder] = {
    k.Normalize: _normalize,
    k.NormalizeGrad: _normalize_grad,
}

STEPS: dict[type[Kernel], StepMaker] = {
    k.Normalize: lambda kernel, i, o: _native_of(kernel).step(kernel.has_weight, kernel.has_bias),
    k.NormalizeGrad: lambda kernel, i, o: _native_of(kernel).grad_step(
        kernel.has_weight, *kernel.wanted
    ),
}
