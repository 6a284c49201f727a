"""Kernels as native steps, which a compiled program runs without Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lumus import _native
from lumus.core import kernels as k
from lumus.core.kernels import Kernel
from lumus.core.spec import Spec
from lumus.devices.cpu.blas import ensure_blas
from lumus.devices.cpu.program import native_program, native_reduction

Specs = tuple[Spec, ...]
StepMaker = Callable[[Any, Specs, Specs], _native.Step]


def _elementwise(kernel: k.Elementwise, inputs: Specs, outputs: Specs) -> _native.Step:
    return native_program(kernel.expression, inputs, outputs).step()


def _reduce(kernel: k.Reduce, inputs: Specs, outputs: Specs) -> _native.Step:
    return native_reduction(kernel, inputs, outputs).step()


def _matmul(kernel: k.MatMul, inputs: Specs, outputs: Specs) -> _native.Step:
    ensure_blas()
    return _native.matmul_step(kernel.transposed, kernel.bias)


STEPS: dict[type[Kernel], StepMaker] = {
    k.Cast: lambda kernel, i, o: _native.cast_step(),
    k.Copy: lambda kernel, i, o: _native.copy_step(),
    k.Elementwise: _elementwise,
    k.MatMul: _matmul,
    k.Reduce: _reduce,
}
