"""Who makes and reads what in a program, and which equations can become one."""

from __future__ import annotations

from lumus.compile.fusion.joiner import Joiner, Part, expression_of
from lumus.core.broadcast import Shape
from lumus.trace.program import Equation, Program, Var


class FusionGraph:
    """The equations of a program by number, with what links them.

    The level of an equation is how many times a path to it leaves joinable equations of one shape.
    Equations of one level and shape can be joined in any way: a path between two of them through
    anything else would lead to a higher level.
    """

    def __init__(self, program: Program, joiner: Joiner) -> None:
        self.equations = program.equations
        self.results = set(program.results())
        self.makers: dict[Var, int] = {}
        self.readers: dict[Var, list[int]] = {}  # each reader once, in order
        self.parts: list[Part | None] = []  # of what can be joined
        self.costs: list[int] = []
        for number, equation in enumerate(self.equations):
            for var in dict.fromkeys(equation.inputs):
                self.readers.setdefault(var, []).append(number)
            for var in equation.outputs:
                self.makers[var] = number
            part = _part(equation)
            cost = None if part is None else joiner.cost(part)
            self.parts.append(None if cost is None else part)
            self.costs.append(cost or 0)
        self.ready = self._ready()
        self.levels = self._levels()
        self._stored = {var for var in self.readers if self._is_stored(var)}
        self._needed = {var for var in self.readers if self._is_needed(var)}

    def shape(self, number: int) -> Shape | None:
        """Of what a joinable equation computes."""
        part = self.parts[number]
        return None if part is None else part.outputs[0].spec.shape

    def is_alike(self, one: int, other: int) -> bool:
        """Whether both can be joined with others of one shape."""
        shape = self.shape(one)
        return shape is not None and shape == self.shape(other)

    def can_join(self, maker: int, reader: int) -> bool:
        """Whether a reader may become one with the maker of an input, as far as they know."""
        return self.is_alike(maker, reader) and not self.is_hard_to_delay(maker, reader)

    def is_hard_to_delay(self, one: int, other: int) -> bool:
        """Whether `one`, computed when `other` can be, makes more bytes live longer than it has."""
        if self.ready[one] >= self.ready[other]:
            return False
        size = sum([var.spec.nbytes for var in self.equations[one].outputs])
        return self.added_life(one, self.ready[other]) > size

    def is_stored(self, var: Var) -> bool:
        """Whether a value that is read is in memory whatever is joined."""
        return var in self._stored

    def _is_stored(self, var: Var) -> bool:
        maker = self.makers.get(var)
        if maker is None or self.parts[maker] is None or var in self.results:
            return True
        return any(not self.can_join(maker, reader) for reader in self.readers[var])

    def is_needed(self, var: Var) -> bool:
        """Whether a value that is read is stored unless equations change their level."""
        return var in self._needed

    def _is_needed(self, var: Var) -> bool:
        levels = {self.levels[reader] for reader in self.readers[var]}
        return var in self._stored or levels != {self.levels[self.makers[var]]}

    def last_read(self, var: Var, but: int) -> int:
        """The last equation, `but` for one, that reads a value; beyond all for one that stays."""
        if var in self.results or var not in self.makers:
            return len(self.equations)
        last = [reader for reader in self.readers[var][-2:] if reader != but]
        return last[-1] if last else -1

    def added_life(self, number: int, until: int) -> int:
        """How many bytes of its inputs stay alive if an equation runs right before `until`."""
        inputs = set(self.equations[number].inputs)
        return sum([var.spec.nbytes for var in inputs if self.last_read(var, number) < until])

    def _ready(self) -> list[int]:
        """For each equation the last one that it has to wait for, but for what it may join."""
        ready: list[int] = []
        for number, equation in enumerate(self.equations):
            if self.parts[number] is None:
                ready.append(number)
                continue
            makers = [self.makers[var] for var in equation.inputs if var in self.makers]
            ready.append(max([ready[maker] for maker in makers], default=-1))
        return ready

    def _levels(self) -> list[int]:
        levels: list[int] = []
        level_of_effects = 0  # these keep their order
        for number, equation in enumerate(self.equations):
            level = 0 if equation.kernel.is_pure else level_of_effects
            for var in equation.inputs:
                maker = self.makers.get(var)
                if maker is not None:
                    level = max(level, levels[maker] + self.distance(maker, number))
            levels.append(level)
            if not equation.kernel.is_pure:
                level_of_effects = level
        return levels

    def distance(self, maker: int, reader: int) -> int:
        """How much higher than its maker's the level of a reader is, at least."""
        return int(self.parts[maker] is not None and not self.can_join(maker, reader))


def _part(equation: Equation) -> Part | None:
    expression = expression_of(equation)
    if expression is None or not equation.inputs:
        return None
    return Part(expression, equation.inputs, equation.outputs)
