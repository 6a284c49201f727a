"""Which equations may raise for the values that they meet."""

from __future__ import annotations

from lumus.core import kernels, kernels_linalg
from lumus.core.embedding_kernels import Embedding, EmbeddingGrad, OneHot
from lumus.core.loss_kernels import CrossEntropy, Ctc
from lumus.trace.program import Equation, Program, Var

Bound = tuple[Var, int]
"""Numbers of rows, and how many rows there are."""

_FAILING = (kernels.Callback, kernels.Checked, Ctc)


def last_failure(program: Program) -> int:
    """The place of the last equation that may raise, -1 if none may.

    Numbers that an earlier equation has found within the same bounds are within them.
    """
    known: set[Bound] = set()
    last = -1
    for at, one in enumerate(program.equations):
        bounds = _bounds(one)
        if not bounds <= known or _fails(one):
            last = at
        known |= bounds
    return last


def _fails(equation: Equation) -> bool:
    kernel = equation.kernel
    return isinstance(kernel, _FAILING) or type(kernel).__module__ == kernels_linalg.__name__


def _bounds(equation: Equation) -> set[Bound]:
    """What the indices among the operands of an equation are checked against."""
    inputs = equation.inputs
    match equation.kernel:
        case kernels.Index():
            return set(zip(inputs[1:], inputs[0].spec.shape, strict=False))
        case kernels.IndexPut():
            return set(zip(inputs[2:], inputs[0].spec.shape, strict=False))
        case kernels.TakeAlongAxis(axis) | kernels.ScatterAdd(axis):
            return {(inputs[1], inputs[0].spec.shape[axis])}
        case Embedding():
            return {(inputs[0], inputs[1].spec.shape[0])}
        case EmbeddingGrad(num_rows):
            return {(inputs[1], num_rows)}
        case OneHot(num_classes):
            return {(inputs[0], num_classes)}
        case CrossEntropy():
            return {(inputs[1], inputs[0].spec.shape[1])}
        case _:
            return set()
