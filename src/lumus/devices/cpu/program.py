"""Scalar expressions as native programs."""

from __future__ import annotations

from lumus import _native
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
