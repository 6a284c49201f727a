"""Which elementwise equations become one: those of a level that a value or a big input links."""

from __future__ import annotations

from lumus.compile.fusion.graph import FusionGraph
from lumus.compile.fusion.joiner import Joiner, Part
from lumus.trace.program import Var

# Inputs and outputs of one program; the native engine takes 96.
MAX_OPERANDS = 64


def groups_of(graph: FusionGraph, joiner: Joiner) -> list[list[int]]:
    """Lists of joinable equations, each in order, which can be run one list at a time."""
    levels = list(graph.levels)
    _sink(graph, levels)
    groups = _linked(graph, levels)
    return [part for group in groups for part in _cut(graph, joiner, group)]


# ------------------------------------------------------------------------------------------ levels


def _sink(graph: FusionGraph, levels: list[int]) -> None:
    """Moves equations down to the level of their readers where that stores less."""
    highest: dict[Var, int] = {}  # level of the readers so far
    for number in range(len(graph.equations) - 1, -1, -1):
        part = graph.parts[number]
        if part is not None:
            readers = [reader for var in part.outputs for reader in graph.readers.get(var, ())]
            lowest = min(
                [levels[reader] - graph.distance(number, reader) for reader in readers], default=0
            )
            if lowest > levels[number] and _saves(graph, levels, number, lowest, highest):
                levels[number] = lowest
        for var in graph.equations[number].inputs:
            highest[var] = max(highest.get(var, 0), levels[number])


def _saves(
    graph: FusionGraph, levels: list[int], number: int, level: int, highest: dict[Var, int]
) -> bool:
    """Whether bytes moved and bytes kept alive are fewer with an equation on the lower level."""
    part = graph.parts[number]
    assert part is not None
    gain = 0
    first = len(graph.equations)
    for var in part.outputs:
        readers = graph.readers.get(var, [])
        joined = [
            reader
            for reader in readers
            if levels[reader] == level and graph.can_join(number, reader)
        ]
        if joined:
            first = min(first, joined[0])
            is_gone = len(joined) == len(readers) and var not in graph.results
            gain += (2 if is_gone else 1) * var.spec.nbytes
    kept = sum([var.spec.nbytes for var in part.outputs])
    is_gain = gain > _loss(graph, levels, number, highest)
    return is_gain and graph.added_life(number, first) <= kept


def _loss(graph: FusionGraph, levels: list[int], number: int, highest: dict[Var, int]) -> int:
    """Bytes moved in addition if an equation leaves the group of those that make its inputs."""
    part = graph.parts[number]
    assert part is not None
    loss = 0
    for var in set(part.inputs):
        maker = graph.makers.get(var)
        if maker is None or levels[maker] != levels[number] or not graph.can_join(maker, number):
            continue
        if graph.is_stored(var) or highest.get(var, 0) > levels[maker]:
            loss += var.spec.nbytes
        elif len(graph.readers[var]) > 1:
            loss += 2 * var.spec.nbytes
    return loss


# ------------------------------------------------------------------------------------------- links


def _linked(graph: FusionGraph, levels: list[int]) -> list[list[int]]:
    """Equations of one level and shape that make values for each other or read a big input."""
    parents = list(range(len(graph.equations)))

    def root(number: int) -> int:
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    def link(one: int, other: int) -> None:
        first, second = sorted((root(one), root(other)))
        parents[second] = first

    for var, readers in graph.readers.items():
        maker = graph.makers.get(var)
        alike = [reader for reader in readers if graph.shape(reader) == var.spec.shape]
        if maker is not None and graph.parts[maker] is not None:
            for reader in alike:
                if levels[reader] == levels[maker]:
                    link(maker, reader)
        last: dict[int, int] = {}  # reader of each level
        for reader in sorted(alike, key=graph.ready.__getitem__):
            other = last.setdefault(levels[reader], reader)
            if not graph.is_hard_to_delay(other, reader):
                link(other, reader)
            last[levels[reader]] = reader
    groups: dict[int, list[int]] = {}
    for number, part in enumerate(graph.parts):
        if part is not None:
            groups.setdefault(root(number), []).append(number)
    return list(groups.values())


# ------------------------------------------------------------------------------------------ limits


def _cut(graph: FusionGraph, joiner: Joiner, group: list[int]) -> list[list[int]]:
    """Pieces in order, so that each has no more operands than a program may have."""
    pieces: list[list[int]] = []
    piece = _Piece()
    for number in group:
        part = graph.parts[number]
        assert part is not None
        inputs = joiner.used_inputs(part)
        if piece.numbers and piece.num_operands_with(part, inputs) > MAX_OPERANDS:
            pieces.append(piece.numbers)
            piece = _Piece()
        piece.add(graph, number, part, inputs)
    pieces.append(piece.numbers)
    return pieces


class _Piece:
    """Equations for one program."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.made: set[Var] = set()
        self.inputs: set[Var] = set()
        # How many readers are still to come: if the piece ended here, these would be outputs.
        self.unread: dict[Var, int] = {}

    def num_operands_with(self, part: Part, inputs: list[Var]) -> int:
        """How many inputs and outputs there would be with one more equation."""
        added = {var for var in inputs if var not in self.made and var not in self.inputs}
        read = {var for var in part.inputs if self.unread.get(var) == 1}
        return len(self.inputs) + len(added) + len(self.unread) - len(read) + len(part.outputs)

    def add(self, graph: FusionGraph, number: int, part: Part, inputs: list[Var]) -> None:
        """Takes one more equation."""
        self.numbers.append(number)
        self.inputs.update([var for var in inputs if var not in self.made])
        for var in set(part.inputs) & self.unread.keys():
            self.unread[var] -= 1
            if not self.unread[var]:
                del self.unread[var]
        for var in part.outputs:
            self.made.add(var)
            readers = len(graph.readers.get(var, ())) + (var in graph.results)
            if readers:
                self.unread[var] = readers
