"""Losses on the native kernels."""

from __future__ import annotations

from lumus import _native
from lumus.core import kernels as k
from lumus.core.kernels.kernel import Kernel
from lumus.devices.cpu.eager import Builder, Specs, StepMaker, eager

_REDUCTIONS = {"none": 0, "sum": 1, "mean": 2}


def _cross_entropy(kernel: k.CrossEntropy, inputs: Specs, outputs: Specs) -> _native.Step:
    return _native.cross_entropy_step(
        kernel.ignore_index, kernel.label_smoothing, _REDUCTIONS[kernel.reduction]
    )


def _cross_entropy_grad(kernel: k.CrossEntropyGrad, inputs: Specs, outputs: Specs) -> _native.Step:
    return _native.cross_entropy_grad_step(
        kernel.ignore_index, kernel.label_smoothing, _REDUCTIONS[kernel.reduction]
    )


STEPS: dict[type[Kernel], StepMaker] = {
    k.CrossEntropy: _cross_entropy,
    k.CrossEntropyGrad: _cross_entropy_grad,
    k.Ctc: lambda kernel, i, o: _native.ctc_step(),
    k.CtcGrad: lambda kernel, i, o: _native.ctc_grad_step(),
}

TABLE: dict[type[Kernel], Builder] = {kernel: eager(maker) for kernel, maker in STEPS.items()}
