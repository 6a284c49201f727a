"""Scalar expressions as native programs, and reductions of what they compute."""

from __future__ import annotations

from lumus import _native
from lumus.core import kernels as k
from lumus.core.scalar.expressions import Expression
from lumus.core.scalar.program import compile_program
from lumus.core.spec import Spec


def native_program(
    expression: Expression, inputs: tuple[Spec, ...], outputs: tuple[Spec, ...]
) -> _native.Program:
    """The program of an expression for operands and results of these dtypes."""
    return _native.Program(
        *compile_program(
            expression,
            tuple(spec.dtype for spec in inputs),
            tuple(spec.dtype for spec in outputs),
        )
    )


def native_reduction(
    kernel: k.Reduce, inputs: tuple[Spec, ...], outputs: tuple[Spec, ...]
) -> _native.Reduction:
    """The reduction of arrays like `inputs`."""
    program = None
    rank, dtype = inputs[0].ndim, inputs[0].dtype
    if kernel.prologue is not None:
        rank = max(spec.ndim for spec in inputs)
        dtype = outputs[0].dtype
        value = outputs[0].with_dtype(dtype)
        program = native_program(kernel.prologue, inputs, (value,))
    return _native.Reduction(
        kernel.kind, program, dtype.code, outputs[0].dtype.code, kernel.axes, rank, kernel.keepdims
    )
