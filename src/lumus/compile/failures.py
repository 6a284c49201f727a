"""Which equations may raise for the values that they meet, so that writes are left until after."""

from __future__ import annotations

from lumus.core import kernels
from lumus.core.kernels import linalg
from lumus.core.kernels.embedding import Embedding, EmbeddingGrad, OneHot
from lumus.core.kernels.loss import CrossEntropy, Ctc, CtcGrad
from lumus.trace.program import Equation, Program, Var
from lumus.trace.value import VIEWS

Bound = tuple[Var, int]
"""Numbers of rows, and how many rows there are."""

_FAILING = (kernels.Callback, kernels.Checked, Ctc, CtcGrad)


class Failures:
    """The equations of a program that may raise."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._makers = program.makers()
        self._written = {write.value for write in program.writes}
        known: set[Bound] = set()
        self._failing: list[int] = []
        for at, one in enumerate(program.equations):
            # Numbers that an earlier equation has found within the same bounds are within them.
            bounds = {bound for bound in _bounds(one) if not self._is_within(*bound)}
            if not bounds <= known or _fails(one):
                self._failing.append(at)
            known |= bounds

    @property
    def last(self) -> int:
        """The place of the last of them, -1 if none may."""
        return max(self._failing, default=-1)

    def first(self) -> Program:
        """The program with look-ups by numbers that are given before what is written, if after."""
        made = [at for at, one in enumerate(self._program.equations) if self._is_written(one)]
        if min(made, default=self.last) >= self.last:
            return self._program
        ready = set(self._program.given())
        early: list[Equation] = []
        late: list[Equation] = []
        for at, one in enumerate(self._program.equations):
            may_move = isinstance(one.kernel, VIEWS) or (at in self._failing and not _fails(one))
            if may_move and ready.issuperset(one.inputs):
                early.append(one)
                ready.update(one.outputs)
            else:
                late.append(one)
        return self._program.with_equations([*early, *late])

    def _is_written(self, equation: Equation) -> bool:
        return not self._written.isdisjoint(equation.outputs)

    def _is_within(self, numbers: Var, bound: int) -> bool:
        """Whether numbers are places along an axis of at most that length."""
        maker = self._makers.get(numbers)
        while maker is not None and isinstance(maker.kernel, VIEWS):
            maker = self._makers.get(maker.inputs[0])
        if maker is None:
            return False
        shape = maker.inputs[0].spec.shape if maker.inputs else ()
        match maker.kernel:
            case kernels.ArgReduce(axis=axis) if axis is not None:
                return shape[axis] <= bound
            case kernels.Argsort(axis=axis) | kernels.TopK(axis=axis):
                return shape[axis] <= bound
            case _:
                return False


def _fails(equation: Equation) -> bool:
    kernel = equation.kernel
    return isinstance(kernel, _FAILING) or type(kernel).__module__ == linalg.__name__


def _bounds(equation: Equation) -> set[Bound]:
    """What the numbers among the operands of an equation are checked against."""
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
