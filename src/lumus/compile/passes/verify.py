"""verify: that a program is one. What it finds is a mistake of the compiler, never of its user."""

from __future__ import annotations

from typing import Any

from lumus.compile.passes.keys import Keys
from lumus.compile.passes.rules import expected
from lumus.core.op import OPS
from lumus.core.spec import Spec
from lumus.trace.printer import Names, equation_text
from lumus.trace.program import Equation, Pass, Program, Var

Specs = tuple[Spec, ...]


def verify(program: Program) -> Program:
    """Returns the program; raises AssertionError, which names the equation, if it is none.

    Each value is made once, before it is read; writes go to inputs and to captured arrays that may
    be written, each once. Every equation is typed again: by its kernel's rule, and by the op's
    `infer` where it is the op's.
    """
    known = _check_given(program)
    typing = _Typing()
    for number, one in enumerate(program.equations):
        problem = _problem(one, known) or typing.problem(one)
        if problem:
            text = equation_text(one, Names(program))
            raise AssertionError(f"{program.name}, equation {number}: {problem}\n  {text}")
        known.update(one.outputs)
    _check_results(program, known)
    return program


def verified(pass_: Pass) -> Pass:
    """The pass with a check of what it is given and of what it returns."""
    name = getattr(pass_, "__name__", str(pass_))

    def checked(program: Program) -> Program:
        try:
            result = verify(pass_(verify(program)))
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error
        _check_signature(name, program, result)
        return result

    return checked


def _check_given(program: Program) -> set[Var]:
    known: set[Var] = set()
    for var in program.given():
        assert var not in known, f"{program.name}: {var!r} is given twice"
        known.add(var)
    return known


def _problem(one: Equation, known: set[Var]) -> str:
    for var in one.inputs:
        if var not in known:
            return f"reads {var!r}, which nothing has made"
    if len(set(one.outputs)) < len(one.outputs):
        return "has one output twice"
    for var in one.outputs:
        if var in known:
            return f"makes {var!r} again"
    return "" if one.outputs else "has no outputs"


def _check_results(program: Program, known: set[Var]) -> None:
    for var in program.results():
        assert var in known, f"{program.name}: the result {var!r} is not made"
    writable = {one.var for one in program.captures if not one.constant}.union(program.inputs)
    written: set[Var] = set()
    for write in program.writes:
        what = f"{program.name}: the write of {write.value!r} to {write.target!r}"
        assert write.target in writable, f"{what}: it is no array that may be written"
        assert write.target not in written, f"{what}: it is written twice"
        assert write.target.spec is write.value.spec, f"{what}: their types differ"
        written.add(write.target)


def _check_signature(name: str, before: Program, after: Program) -> None:
    """That a pass has left alone what the program is to those who call it."""
    assert before.inputs == after.inputs, f"{name}: the inputs are not the same"
    assert before.hosts == after.hosts, f"{name}: the host inputs are not the same"
    specs = [[var.spec for var in one.outputs] for one in (before, after)]
    assert specs[0] == specs[1], f"{name}: the outputs have other types"
    targets = [[write.target for write in one.writes] for one in (before, after)]
    assert targets[0] == targets[1], f"{name}: other arrays are written"


class _Typing:
    """Types equations; equal ones once."""

    def __init__(self) -> None:
        self._keys = Keys()
        self._known: dict[Any, str] = {}

    def problem(self, one: Equation) -> str:
        """What is wrong with the types of an equation; empty if nothing is."""
        inputs = tuple([var.spec for var in one.inputs])
        outputs = tuple([var.spec for var in one.outputs])
        signature = (one.op, one.attrs, self._keys.of(one.kernel), inputs, outputs)
        found = self._known.get(signature)
        if found is None:
            found = self._known[signature] = self._typed(one, inputs, outputs)
        return found

    def _typed(self, one: Equation, inputs: Specs, outputs: Specs) -> str:
        try:
            by_op, by_kernel = self._by_op(one, inputs), expected(one.kernel, inputs, outputs)
        except Exception as error:  # whatever a check of operands raises, they do not fit
            return f"does not take these operands: {error}"
        for given in (by_op, by_kernel):
            if given is not None and given != outputs:
                return f"gives {', '.join(map(repr, given))}"
        return ""

    def _by_op(self, one: Equation, inputs: Specs) -> Specs | None:
        """What the op says, if the equation is that op and not what a pass has made of it."""
        op = OPS.get(one.op)
        if op is None or (one.attrs is None) != (op.attrs is None):
            return None
        try:
            kernel = op.kernel(inputs, one.attrs)
        except Exception:  # it was made for the operands of another kernel
            return None
        if not self._keys.are_equal(kernel, one.kernel):
            return None
        given = op.infer(inputs, one.attrs)
        return (given,) if isinstance(given, Spec) else given
