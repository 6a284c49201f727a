"""Scalar expressions as native programs, and reductions of what they compute."""

from __future__ import annotations

from typing import Any

from lumus import _native
from lumus.core import kernels as k
from lumus.core.scalar.expressions import Expression
from lumus.core.scalar.program import compile_program
from lumus.core.scalar.structure import structure
from lumus.core.spec import Spec

_MAX_PROGRAMS = 4096
_programs: dict[Any, _native.Program] = {}


def native_program(
    expression: Expression, inputs: tuple[Spec, ...], outputs: tuple[Spec, ...]
) -> _native.Program:
    """The program of an expression for operands and results of these dtypes.

    Expressions that are written alike have one: a compiled function has many of those, and the
    same ones again for each size of its arguments.
    """
    input_dtypes = tuple([spec.dtype for spec in inputs])
    output_dtypes = tuple([spec.dtype for spec in outputs])
    key = (structure(expression), input_dtypes, output_dtypes)
    program = _programs.get(key)
    if program is None:
        program = _native.Program(*compile_program(expression, input_dtypes, output_dtypes))
        if len(_programs) >= _MAX_PROGRAMS:
            _programs.clear()
        _programs[key] = program
    return program


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
