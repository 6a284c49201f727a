"""Views that an elementwise program makes needless: it broadcasts by itself."""

from __future__ import annotations

from collections.abc import Sequence

from lumus.compile.fusion.joiner import expression_of
from lumus.core.broadcast import Shape, broadcast_shapes
from lumus.core.kernels.reduction import Reduce
from lumus.core.kernels.shape import BroadcastTo, Reshape
from lumus.trace.program import Equation, Program, Var


def without_broadcasts(program: Program) -> Program:
    """Elementwise equations read what was repeated for them, where they broadcast alike.

    So do reductions of an expression. Views that nothing reads after that are gone.
    """
    makers = program.makers()
    uses = program.uses()
    equations: list[Equation] = []
    for equation in program.equations:
        inputs = _smaller_inputs(equation, makers)
        if inputs != equation.inputs:
            for var, source in zip(equation.inputs, inputs, strict=True):
                uses[var] -= 1
                uses[source] = uses.get(source, 0) + 1
            equation = equation.with_inputs(inputs)  # noqa: PLW2901
        equations.append(equation)
    kept: list[Equation] = []
    for equation in reversed(equations):
        if _repeats(equation) and not uses.get(equation.outputs[0]):
            uses[equation.inputs[0]] -= 1
        else:
            kept.append(equation)
    return program.with_equations(reversed(kept))


def _smaller_inputs(equation: Equation, makers: dict[Var, Equation]) -> tuple[Var, ...]:
    is_program = isinstance(equation.kernel, Reduce) and equation.kernel.prologue is not None
    if not equation.inputs or not (is_program or expression_of(equation)):
        return equation.inputs
    inputs = [_source(var, makers) for var in equation.inputs]
    # The shape of the result is that of the inputs: some may have to stay as large as they are.
    for place, var in enumerate(equation.inputs):
        if _shape(inputs) == _shape(equation.inputs):
            break
        inputs[place] = var
    return tuple(inputs)


def _shape(inputs: Sequence[Var]) -> Shape:
    return broadcast_shapes("fuse", *[var.spec.shape for var in inputs])


def _source(var: Var, makers: dict[Var, Equation]) -> Var:
    while var in makers and _repeats(makers[var]):
        (var,) = makers[var].inputs
    return var


def _repeats(equation: Equation) -> bool:
    """Whether an elementwise program that reads the input does the same by itself."""
    match equation.kernel:
        case BroadcastTo():
            return True
        case Reshape(shape):
            source = equation.inputs[0].spec.shape
            return shape == (1,) * (len(shape) - len(source)) + source
        case _:
            return False
