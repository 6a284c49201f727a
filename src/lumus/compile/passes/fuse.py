"""fuse: elementwise equations become few programs that pass over memory once.

What an elementwise equation stores, the next one loads: on arrays beyond the caches that takes
longer than the arithmetic. Joined, a value lives in a tile in the first-level cache, and is stored
only if something else reads it. Values keep their bits (`fusion.joiner`). In this order:

1. Elementwise programs broadcast by themselves: views that only repeat are dropped.
2. A cheap value of stored ones is computed by each reader for itself, where that saves its write.
3. A reduction takes what only it reads as its prologue.
4. Equations of one shape join which make values for each other or read the same big input, unless
   a path between two of them leads through something else. What several lines compute alone, like
   softmax and norms, is one equation with a kernel of its own and stays it.
"""

from __future__ import annotations

import heapq

from lumus.compile.fusion.broadcasts import without_broadcasts
from lumus.compile.fusion.copies import with_copies
from lumus.compile.fusion.graph import FusionGraph
from lumus.compile.fusion.groups import groups_of
from lumus.compile.fusion.joiner import Joiner, Part, sites_of
from lumus.compile.fusion.prologues import with_prologues
from lumus.compile.passes.dce import dce
from lumus.core.broadcast import broadcast_shapes
from lumus.core.kernels.elementwise import Elementwise
from lumus.trace.program import Equation, Program, Var


def fuse(program: Program) -> Program:
    """Joins elementwise equations with each other and with the reductions that read them."""
    joiner = Joiner()
    program = without_broadcasts(program)
    program = with_copies(program, joiner)
    program = dce(with_prologues(program, joiner))
    return with_groups(program, joiner)


def with_groups(program: Program, joiner: Joiner) -> Program:
    """Each group of joinable equations as one."""
    graph = FusionGraph(program, joiner)
    groups = groups_of(graph, joiner)
    if all(len(group) == 1 for group in groups):
        return program
    members = {number: group for group in groups for number in group}
    equations: dict[int, Equation] = {}  # by their first member
    for number, equation in enumerate(program.equations):
        group = members.get(number, [number])
        if group[0] != number:
            continue
        joined = equation if len(group) == 1 else _joined(graph, joiner, group)
        if joined is not None:
            equations[number] = joined
    return program.with_equations(_in_order(equations))


def _joined(graph: FusionGraph, joiner: Joiner, group: list[int]) -> Equation | None:
    """The equation of a group; None if nothing reads what it computes."""
    parts = [part for number in group if (part := graph.parts[number])]
    inside = set(group)
    made = [var for part in parts for var in part.outputs]
    outputs = [
        var
        for var in made
        if var in graph.results
        or any(reader not in inside for reader in graph.readers.get(var, ()))
    ]
    if not outputs:
        return None
    inputs = _inputs(joiner, parts, set(made))
    return Equation(
        "fused",
        None,
        Elementwise(joiner.join(parts, inputs, outputs)),
        tuple(inputs),
        tuple(outputs),
        sites_of([graph.equations[number] for number in group]),
    )


def _inputs(joiner: Joiner, parts: list[Part], made: set[Var]) -> list[Var]:
    """What a group reads from outside, and enough of the rest to give the result its shape."""
    used = [var for part in parts for var in joiner.used_inputs(part)]
    inputs = list(dict.fromkeys([var for var in used if var not in made]))
    shape = parts[0].outputs[0].spec.shape
    others = [var for part in parts for var in part.inputs if var not in made]
    for var in dict.fromkeys(others):
        if inputs and broadcast_shapes("fuse", *[one.spec.shape for one in inputs]) == shape:
            break
        if var not in inputs:
            inputs.append(var)
    return inputs


def _in_order(equations: dict[int, Equation]) -> list[Equation]:
    """The equations by number, but each after those that make its inputs.

    Those that do more than compute keep their order.
    """
    makers = {var: number for number, one in equations.items() for var in one.outputs}
    waiting: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    effect: int | None = None
    for number, equation in equations.items():
        needed = {makers[var] for var in equation.inputs if var in makers}
        if not equation.kernel.is_pure:
            needed.update([] if effect is None else [effect])
            effect = number
        waiting[number] = len(needed)
        for maker in needed:
            readers.setdefault(maker, []).append(number)
    ready = [number for number, count in waiting.items() if not count]
    heapq.heapify(ready)
    order: list[Equation] = []
    while ready:
        number = heapq.heappop(ready)
        order.append(equations[number])
        for reader in readers.get(number, ()):
            waiting[reader] -= 1
            if not waiting[reader]:
                heapq.heappush(ready, reader)
    assert len(order) == len(equations), "a group depends on itself"
    return order
