"""How long the memory of each value is needed, and how much is at each equation.

What the memory plan will make of it: views take none, an elementwise result may take over the
memory of an operand that is not read any more, and a value that is written to an array is computed
there if nobody reads the array later.
"""

from __future__ import annotations

from itertools import accumulate

from lumus.compile.passes.views import memory_of
from lumus.core.kernels.elementwise import Elementwise
from lumus.trace.program import Equation, Program, Var


class Lifetimes:
    """The bytes that are alive while each equation runs (`alive`), and the most of them (`peak`).

    `first` and `last` are the equations between which the memory of a value is needed, for values
    that take any; `memory` tells of a view whose memory it shows. Results live to the end.
    """

    def __init__(self, program: Program) -> None:
        self.equations = program.equations
        self.memory = memory_of(program)
        self.maker = {var: at for at, one in enumerate(program.equations) for var in one.outputs}
        self.first: dict[Var, int] = {}
        self.last: dict[Var, int] = {}
        self._taken: set[Var] = set()
        for at, one in enumerate(program.equations):
            for var in (*one.inputs, *one.outputs):
                self.last[self.root(var)] = at
        self._let_live(program)
        for at, one in enumerate(program.equations):
            for var in one.outputs:
                if var in self.last:
                    self.first[var] = at + self._takes_over(at, one, var)
        self.alive = self._alive()
        self.peak = max(self.alive, default=0)

    def root(self, var: Var) -> Var:
        """The value whose memory a value shows: itself, unless it is a view."""
        return self.memory.get(var, var)

    def _let_live(self, program: Program) -> None:
        """Results live to the end, but for values that are computed where they are written."""
        end = len(program.equations)
        in_place: set[Var] = set()
        for write in program.writes:
            if self._is_written_in_place(write.target, write.value):
                in_place.add(write.value)
        for var in program.outputs:
            self.last[self.root(var)] = end
            in_place.discard(var)
        for write in program.writes:
            if write.value in in_place:
                self.last.pop(write.value, None)
            elif self.root(write.value) in self.maker:
                self.last[self.root(write.value)] = end

    def _is_written_in_place(self, target: Var, value: Var) -> bool:
        at = self.maker.get(value)
        if at is None or value in self.memory:
            return False
        read = self.last.get(target, -1)
        return read < at or (read == at and _reads_directly(self.equations[at], target))

    def _takes_over(self, at: int, one: Equation, made: Var) -> bool:
        """Whether a result lies where an operand does that is read here for the last time."""
        for var in one.inputs:
            if (
                var in self.first
                and var not in self._taken
                and var.spec is made.spec
                and self.last[var] == at
                and _reads_directly(one, var)
            ):
                self._taken.add(var)
                return True
        return False

    def _alive(self) -> list[int]:
        changes = [0] * (len(self.equations) + 2)
        for var, first in self.first.items():
            if self.last[var] >= first:
                changes[first] += var.spec.nbytes
                changes[self.last[var] + 1] -= var.spec.nbytes
        return list(accumulate(changes[: len(self.equations)]))


def _reads_directly(one: Equation, var: Var) -> bool:
    """Whether an equation may write its result over `var`, which it reads element by element."""
    return isinstance(one.kernel, Elementwise) and var in one.inputs
