"""What is checked of each equation of a program that somebody else may have written."""

from __future__ import annotations

from lumus.compile.passes.operands import check
from lumus.compile.passes.rules import expected
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.loss import CrossEntropy, CrossEntropyGrad
from lumus.core.kernels.pool import MaxPool, MaxPoolGrad, MaxPoolTake
from lumus.trace.program import Equation, Var


class Checker:
    """Called with the equations of a program in order; raises for one that must not run.

    There must be a rule for its kernel, which accepts its parameters and operands and gives the
    types that it declares. Kernels that rely on what another has made, and would read or write
    beyond an array otherwise, must be given just that.
    """

    def __init__(self) -> None:
        self._makers: dict[Var, Equation] = {}

    def __call__(self, one: Equation) -> None:
        inputs = tuple([var.spec for var in one.inputs])
        outputs = tuple([var.spec for var in one.outputs])
        given = expected(one.kernel, inputs, outputs)
        if given is None:
            raise AssertionError(f"{one.kernel.name} is nothing that a saved program can contain")
        check(given == outputs, f"it gives {', '.join(map(repr, given))}")
        match one.kernel:
            case MaxPoolGrad(axes) | MaxPoolTake(axes):
                self._check_made(one.inputs[1], MaxPool(axes), one.inputs[1:1])
            case CrossEntropyGrad(ignore_index, smoothing, reduction):
                maker = CrossEntropy(ignore_index, smoothing, reduction)
                self._check_made(one.inputs[3], maker, one.inputs[1:3])
            case _:
                pass
        for var in one.outputs:
            self._makers[var] = one

    def _check_made(self, var: Var, kernel: Kernel, inputs: tuple[Var, ...]) -> None:
        """That a value is the second that such a kernel made, of these inputs if any are given."""
        maker = self._makers.get(var)
        holds = maker is not None and maker.kernel == kernel and maker.outputs[1] is var
        check(holds, f"it needs what {kernel.name} has made")
        if maker is not None and inputs:
            check(maker.inputs == inputs, f"it needs the operands of its {kernel.name}")
