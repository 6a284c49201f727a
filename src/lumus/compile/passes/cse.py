"""cse: what is computed twice is computed once."""

from __future__ import annotations

from typing import Any

from lumus.compile.passes.keys import Keys
from lumus.compile.passes.views import escaping
from lumus.core.spec import Spec
from lumus.trace.printer import number_of
from lumus.trace.program import Capture, Equation, Program, Var


def cse(program: Program) -> Program:
    """Merges equations of equal kernels and inputs, and constants that are the same.

    Values are written once, so what one equation gave at its place is what another gives at any
    later place: what the function wrote in between is a value of its own, and also what fills
    memory without inputs is safe to merge. Random numbers differ in their inputs.
    Two values that are both returned stay two: they are two tensors to the caller.
    """
    returned = escaping(program)
    names: dict[Var, Var] = {}
    captures = _merged_captures(program, returned, names)
    keys = Keys()
    first: dict[Any, tuple[Var, ...]] = {}
    kept: list[Equation] = []
    for given in program.equations:
        one = given.with_inputs(tuple([names.get(var, var) for var in given.inputs]))
        key = (keys.of(one.kernel), one.inputs, tuple([var.spec for var in one.outputs]))
        known = first.setdefault(key, one.outputs) if one.kernel.is_pure else one.outputs
        if known is one.outputs or _both(returned, known, one.outputs):
            kept.append(one)
        else:
            names.update(zip(one.outputs, known, strict=True))
            returned.update(
                to for old, to in zip(one.outputs, known, strict=True) if old in returned
            )
    return program.with_captures(captures).with_equations(kept).renamed(names)


def _merged_captures(program: Program, returned: set[Var], names: dict[Var, Var]) -> list[Capture]:
    """The captures, constants of the same memory or number but once; `names` what became what."""
    first: dict[Any, Var] = {}
    kept: list[Capture] = []
    for capture in program.captures:
        var = capture.var
        known = first.setdefault(_constant_key(capture), var) if capture.constant else var
        if known is var or _both(returned, (known,), (var,)):
            kept.append(capture)
        else:
            names[var] = known
            if var in returned:
                returned.add(known)
    return kept


def _constant_key(capture: Capture) -> Any:
    number = number_of(capture)
    spec: Spec = capture.var.spec
    # An address is that of one array as long as the program holds them all.
    return (spec, id(capture.data)) if number is None else (spec, repr(number))


def _both(returned: set[Var], one: tuple[Var, ...], other: tuple[Var, ...]) -> bool:
    return any(a in returned and b in returned for a, b in zip(one, other, strict=True))
