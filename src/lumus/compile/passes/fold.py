"""fold: what depends on constants alone is computed when the program is compiled."""

from __future__ import annotations

from typing import Any

from lumus.compile.passes.built_in import BuiltIn
from lumus.compile.passes.views import escaping, is_view
from lumus.trace.program import Capture, Equation, Program

MAX_GROWTH = 1 << 20
"""Bytes that a program's constants may grow by: what makes more of less is left to run time."""


def fold(program: Program, *, fast_math: bool = False) -> Program:
    """Computes equations of constants, and builds constants of one number into expressions.

    An equation is computed if all its inputs are constants (or it has none), unless a result is
    returned, which is a new array at each call, or the constants would be larger by more than 1 MiB
    in all, results less inputs added up over the equations that grow. One that fails (an index out
    of range) is left to fail where the user's line is known.

    A number that an elementwise equation or the prologue of a reduction reads is no operand any
    more where that gives the same bits; with `fast_math` also where it is a power that becomes
    products. See `built_in`.
    """
    constants = {one.var: one for one in program.captures if one.constant}
    returned = escaping(program)
    built_in = BuiltIn(fast_math=fast_math)
    growth = 0
    kept: list[Equation] = []
    for one in program.equations:
        added = _growth(one)
        if (
            one.kernel.is_pure
            and all(var in constants for var in one.inputs)
            and returned.isdisjoint(one.outputs)
            and growth + added <= MAX_GROWTH
        ):
            made = _computed(one, [constants[var].data for var in one.inputs])
            if made is not None:
                growth += added
                constants.update((capture.var, capture) for capture in made)
                continue
        kept.append(built_in.applied(one, constants))
    known = {one.var for one in program.captures}
    folded = [one for var, one in constants.items() if var not in known]
    return program.with_captures([*program.captures, *folded]).with_equations(kept)


def _growth(one: Equation) -> int:
    """By how many bytes an equation's results are more than its inputs; views take none."""
    if is_view(one):
        return 0
    results = sum(var.spec.nbytes for var in one.outputs)
    return max(0, results - sum(var.spec.nbytes for var in one.inputs))


def _computed(one: Equation, data: list[Any]) -> list[Capture] | None:
    """The results as constants; None if the kernel fails."""
    ins = tuple([var.spec for var in one.inputs])
    outs = tuple([var.spec for var in one.outputs])
    try:
        made = outs[0].device.prepare(one.kernel, ins, outs)(*data)
    except Exception:  # whatever a kernel raises, it is the user's to see when it runs
        return None
    results = made if isinstance(made, tuple) else (made,)
    return [Capture(var, array, True) for var, array in zip(one.outputs, results, strict=True)]
