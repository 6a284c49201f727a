"""Reductions compute what they combine: an elementwise producer becomes their prologue."""

from __future__ import annotations

import math

from lumus.compile.fusion.graph import FusionGraph
from lumus.compile.fusion.joiner import SAME, Joiner, Part, sites_of
from lumus.core.broadcast import Shape, broadcast_shapes
from lumus.core.kernels.reduction import Reduce
from lumus.core.kernels.shape import Permute, Pieces, Slice, Windows
from lumus.trace.program import Equation, Program, Var

MAX_INPUTS = 64
# A prologue is called for runs of neighbours: for shorter ones the calls cost more than they save.
MIN_RUN = 1000
# Rows that are added up to one of this many columns are computed several at once; longer ones piece
# by piece down the columns, which costs more than it saves.
MAX_COLUMNS = 256
# Up to this size the call that is saved counts.
SMALL = 4096
# Instructions of an element that are repeated to save a write of it.
MAX_REPEATED = 4
# Bytes moved for a byte that is stored and read again: a write loads its cache line first.
_STORED = 3
_STRIDED = (Permute, Slice, Pieces, Windows)


def takes_expression(equation: Equation, value: Var) -> bool:
    """Whether an equation is a reduction that may compute `value` by itself, with the same bits."""
    match equation.kernel:
        case Reduce(kind, _, _, prologue):
            source, result = value.spec.dtype, equation.outputs[0].spec.dtype
            if prologue is not None:
                return value.spec.shape == _shape(equation)
            # Small ints and Bool add up in the dtype of the result in any case.
            return source is result or (kind in ("sum", "prod") and result.kind == "int")
        case _:
            return False


def with_prologues(program: Program, joiner: Joiner) -> Program:
    """Reductions take the elementwise equations that they alone read, if that saves a pass.

    It does not where the equation shares a group with others which would have to store more for it.
    """
    graph = FusionGraph(program, joiner)
    taken: set[int] = set()
    changed: dict[int, Equation] = {}
    for number, equation in enumerate(program.equations):
        if not isinstance(equation.kernel, Reduce) or not _shape(equation):
            continue
        cone = _Cone(graph, equation, joiner)
        if cone.numbers:
            taken.update(cone.numbers - cone.copied)
            changed[number] = cone.equation()
    return program.with_equations(
        [
            changed.get(number, equation)
            for number, equation in enumerate(program.equations)
            if number not in taken
        ]
    )


class _Cone:
    """A reduction with the equations that go into its prologue."""

    def __init__(self, graph: FusionGraph, reduction: Equation, joiner: Joiner) -> None:
        self.graph = graph
        self.reduction = reduction
        self.joiner = joiner
        self.shape = _shape(reduction)
        self.numbers: set[int] = set()
        self.copied: set[int] = set()  # of these, the ones that stay for others
        self.inputs = list(dict.fromkeys(reduction.inputs))
        pending = list(self.inputs)
        while pending:
            pending.extend(self._take(pending.pop()))

    def _take(self, value: Var) -> list[Var]:
        """Takes what makes `value` in, if that is right; returns what it is computed of."""
        graph = self.graph
        maker = graph.makers.get(value)
        part = None if maker is None else graph.parts[maker]
        if maker is None or part is None or part.outputs != (value,) or value in graph.results:
            return []
        if value.spec.shape != self.shape or maker in self.numbers:
            return []
        is_copied = not self._reads_alone(value)
        if is_copied and not self._copy_cost(value) < _STORED * value.spec.nbytes:
            return []
        if not self.numbers and not takes_expression(self.reduction, value):
            return []
        used = self.joiner.used_inputs(part)
        added = [var for var in used if var not in self.inputs]
        inputs = [var for var in self.inputs if var is not value] + added
        if not (is_copied or self._pays(value, added)) or not self._is_fast(inputs):
            return []
        self.numbers.add(maker)
        if is_copied:
            self.copied.add(maker)
        self.inputs = inputs
        return used

    def _reads_alone(self, value: Var) -> bool:
        return all(
            reader in self.numbers or self.graph.equations[reader] is self.reduction
            for reader in self.graph.readers[value]
        )

    def _pays(self, value: Var, added: list[Var]) -> bool:
        """Whether the inputs that a value adds cost less than storing it."""
        maker = self.graph.makers[value]
        cost = 0.0
        for var in added:
            is_shared = any(
                reader != maker and self.graph.is_alike(maker, reader)
                for reader in self.graph.readers[var]
            )
            if self.graph.is_needed(var):
                # It was read by the group, perhaps for others, too.
                cost += is_shared * var.spec.nbytes
            elif is_shared:
                cost += min(_STORED * var.spec.nbytes, self._copy_cost(var))
        return cost < _STORED * value.spec.nbytes

    def _copy_cost(self, value: Var) -> float:
        """Bytes read to compute a value that others compute, too; infinite if it is not cheap."""
        maker = self.graph.makers.get(value)
        part = None if maker is None else self.graph.parts[maker]
        if maker is None or part is None or len(part.outputs) > 1:
            return math.inf
        inputs = self.joiner.used_inputs(part)
        is_cheap = self.graph.costs[maker] <= MAX_REPEATED and all(
            map(self.graph.is_stored, inputs)
        )
        if not is_cheap or self.graph.is_needed(value):
            return math.inf
        return sum([var.spec.nbytes for var in inputs if var not in self.inputs])

    def _is_fast(self, inputs: list[Var]) -> bool:
        if len(inputs) > MAX_INPUTS:
            return False
        shapes = [var.spec.shape for var in inputs]
        if not shapes or broadcast_shapes("fuse", *shapes) != self.shape:
            return False
        if any(map(self._is_strided, inputs)):
            return False
        size = math.prod(self.shape)
        run = _run(shapes, self.shape)
        if run < min(MIN_RUN, size):
            return False
        return size <= SMALL or self._num_columns() <= MAX_COLUMNS

    def _num_columns(self) -> int:
        """How many neighbours go to different results; 1 if neighbours are combined."""
        kernel = self.reduction.kernel
        assert isinstance(kernel, Reduce)
        kept = 1
        for axis in range(len(self.shape) - 1, -1, -1):
            if axis in kernel.axes and self.shape[axis] > 1:
                break
            kept *= self.shape[axis]
        return kept

    def _is_strided(self, var: Var) -> bool:
        maker = self.graph.makers.get(var)
        if maker is None or var.spec.size == 1:
            return False
        return isinstance(self.graph.equations[maker].kernel, _STRIDED)

    def equation(self) -> Equation:
        """The reduction of an expression."""
        kernel = self.reduction.kernel
        assert isinstance(kernel, Reduce)
        dtype = self.reduction.outputs[0].spec.dtype
        value = Var(self.reduction.inputs[0].spec.with_shape(self.shape).with_dtype(dtype))
        last = Part(kernel.prologue or SAME, self.reduction.inputs, (value,))
        numbers = sorted(self.numbers)
        parts = [part for number in numbers if (part := self.graph.parts[number])]
        expression = self.joiner.join([*parts, last], self.inputs, [value])
        equations = [*[self.graph.equations[number] for number in numbers], self.reduction]
        return Equation(
            "fused",
            None,
            Reduce(kernel.kind, kernel.axes, kernel.keepdims, expression),
            tuple(self.inputs),
            self.reduction.outputs,
            sites_of(equations),
        )


def _shape(reduction: Equation) -> Shape:
    """Of what is reduced."""
    return broadcast_shapes("fuse", *[var.spec.shape for var in reduction.inputs])


def _run(shapes: list[Shape], shape: Shape) -> int:
    """How many neighbours of `shape` are neighbours, or one and the same, in each of `shapes`."""
    run = 1
    patterns: list[bool] | None = None
    for axis in range(1, len(shape) + 1):
        if shape[-axis] == 1:
            continue
        present = [axis <= len(one) and one[-axis] != 1 for one in shapes]
        if patterns is not None and present != patterns:
            break
        patterns = present
        run *= shape[-axis]
    return run
