"""The steps of recurrent layers on the native kernels."""

from __future__ import annotations

from lumus import _native
from lumus.core import kernels as k
from lumus.core.kernels.kernel import Kernel
from lumus.devices.cpu.blas import ensure_blas
from lumus.devices.cpu.eager import Builder, Specs, StepMaker, eager

_CELLS: dict[k.CellKind, int] = {"tanh": 0, "relu": 1, "lstm": 2, "gru": 3}


def _recurrent(kernel: k.Recurrent, inputs: Specs, outputs: Specs) -> _native.Step:
    ensure_blas()
    return _native.recurrent_step(
        _CELLS[kernel.cell], kernel.reverse, kernel.has_bias, kernel.has_lengths
    )


def _recurrent_grad(kernel: k.RecurrentGrad, inputs: Specs, outputs: Specs) -> _native.Step:
    return _native.recurrent_grad_step(_CELLS[kernel.cell], kernel.reverse, kernel.has_lengths)


STEPS: dict[type[Kernel], StepMaker] = {
    k.Recurrent: _recurrent,
    k.RecurrentGrad: _recurrent_grad,
}

TABLE: dict[type[Kernel], Builder] = {kernel: eager(maker) for kernel, maker in STEPS.items()}
