"""order: equations in an order in which values live short, so that less memory is alive at once."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from lumus.compile.passes.lifetimes import Lifetimes
from lumus.trace.program import Program, Var


def order(program: Program) -> Program:
    """The given order, or a better one: the one with the lower peak of memory.

    The other order is made by always running, of the equations whose inputs are there, the one
    after which the least memory is alive; of equals the first. An optimiser's update so runs when
    its gradient is there, which then is not needed any more. What writes to an array still comes
    after what reads it, where it does in the given order. User's code runs in the given order.
    """
    given = Lifetimes(program)
    scheduled = _Schedule(program, given).program()
    return scheduled if Lifetimes(scheduled).peak < given.peak else program


class _Schedule:
    """List scheduling with a heap of the equations that are ready.

    Entries of the heap are (growth of memory, place in the given order); growth only shrinks while
    an equation waits, and then it is entered again.
    """

    def __init__(self, source: Program, lifetimes: Lifetimes) -> None:
        self.source = source
        self.lifetimes = lifetimes
        count = len(source.equations)
        self.after: list[list[int]] = [[] for _ in range(count)]
        self.waits_for = [0] * count
        # Of each memory that the program allocates and may give back: who is still to read it.
        self.readers: dict[Var, dict[int, None]] = {}
        self._add_dependencies()
        end = count
        for var in [var for var in self.readers if lifetimes.last[var] == end]:
            del self.readers[var]
        self.growth = [self._growth(at) for at in range(count)]

    def _add_dependencies(self) -> None:
        maker, root = self.lifetimes.maker, self.lifetimes.root
        readers: dict[Var, dict[int, None]] = {}
        last_impure: int | None = None
        for at, one in enumerate(self.source.equations):
            for var in dict.fromkeys(one.inputs):
                if var in maker:
                    self._then(maker[var], at)
                readers.setdefault(root(var), {})[at] = None
            if not one.kernel.is_pure:
                if last_impure is not None:
                    self._then(last_impure, at)
                last_impure = at
        for write in self.source.writes:
            place = maker.get(write.value)
            reads = readers.get(write.target, {})
            if place is not None and all(read <= place for read in reads):
                for read in reads:
                    if read < place:
                        self._then(read, place)
        self.readers = {var: found for var, found in readers.items() if var in self.lifetimes.first}

    def _then(self, first: int, second: int) -> None:
        self.after[first].append(second)
        self.waits_for[second] += 1

    def _growth(self, at: int) -> int:
        """How many bytes more are alive after an equation than before, as things are."""
        one = self.source.equations[at]
        last = self.lifetimes.last
        made = sum(
            var.spec.nbytes
            for var in one.outputs
            if var in self.lifetimes.first and last[var] > self.lifetimes.maker[var]
        )
        roots = {self.lifetimes.root(var) for var in one.inputs}
        freed = sum(var.spec.nbytes for var in roots if len(self.readers.get(var, ())) == 1)
        return made - freed

    def program(self) -> Program:
        """The program in the new order."""
        ready = [(self.growth[at], at) for at, count in enumerate(self.waits_for) if count == 0]
        heapify(ready)
        done: list[int] = []
        ran = [False] * len(self.growth)
        while ready:
            growth, at = heappop(ready)
            if ran[at] or growth != self.growth[at]:
                continue
            ran[at] = True
            done.append(at)
            for other in self._without_reader(at):
                self.growth[other] = self._growth(other)
                if self.waits_for[other] == 0:
                    heappush(ready, (self.growth[other], other))
            for other in self.after[at]:
                self.waits_for[other] -= 1
                if self.waits_for[other] == 0:
                    heappush(ready, (self.growth[other], other))
        assert len(done) == len(ran), "the equations depend on each other in a circle"
        return self.source.with_equations([self.source.equations[at] for at in done])

    def _without_reader(self, at: int) -> list[int]:
        """The equations that are now the only ones to read a memory that equation `at` read."""
        found: dict[int, None] = {}
        for var in self.source.equations[at].inputs:
            readers = self.readers.get(self.lifetimes.root(var))
            if readers is not None:
                readers.pop(at, None)
                if len(readers) == 1:
                    found.update(readers)
        return list(found)
