"""Cheap values are computed where they are read instead of being stored."""

from __future__ import annotations

from lumus.compile.fusion.graph import FusionGraph
from lumus.compile.fusion.joiner import Joiner
from lumus.compile.fusion.prologues import MAX_REPEATED, takes_expression
from lumus.trace.program import Equation, Program, Var


def with_copies(program: Program, joiner: Joiner) -> Program:
    """Gives each reader of a value a computation of its own where that saves a pass over memory.

    That is so if the value would be stored, since not all readers can be joined with it, while each
    reader by itself can; if what it is computed of is stored anyway; and if no reader then reads
    more than it does now. Then the write is saved, and few cheap instructions are repeated.
    """
    graph = FusionGraph(program, joiner)
    copied: set[int] = set()
    for number, equation in enumerate(graph.equations):
        makers = {graph.makers.get(var) for var in equation.inputs}
        if makers.isdisjoint(copied) and _is_better_copied(graph, number):
            copied.add(number)
    if not copied:
        return program
    equations: list[Equation] = []
    for number, equation in enumerate(program.equations):
        if number in copied:
            continue
        copies: dict[Var, Var] = {}
        for var in dict.fromkeys(equation.inputs):
            maker = graph.makers.get(var)
            if maker is not None and maker in copied:
                original = program.equations[maker]
                copies[var] = Var(var.spec, var.label)
                equations.append(
                    Equation(
                        original.op,
                        original.attrs,
                        original.kernel,
                        original.inputs,
                        (copies[var],),
                        original.sites,
                    )
                )
        inputs = tuple([copies.get(var, var) for var in equation.inputs])
        equations.append(equation.with_inputs(inputs) if copies else equation)
    return program.with_equations(equations)


def _is_better_copied(graph: FusionGraph, number: int) -> bool:
    part = graph.parts[number]
    if part is None or len(part.outputs) != 1:
        return False
    value = part.outputs[0]
    readers = graph.readers.get(value, [])
    if len(readers) < 2 or graph.costs[number] * (len(readers) - 1) > MAX_REPEATED:
        return False
    if value in graph.results or not graph.is_needed(value):
        return False
    if not all(graph.is_stored(var) for var in part.inputs):
        return False
    if graph.added_life(number, readers[-1]) > value.spec.nbytes:
        return False
    return all(_reads_no_more(graph, number, reader) for reader in readers)


def _reads_no_more(graph: FusionGraph, number: int, reader: int) -> bool:
    part, equation = graph.parts[number], graph.equations[reader]
    assert part is not None
    (value,) = part.outputs
    if not graph.is_alike(number, reader) and not takes_expression(equation, value):
        return False
    added = {var for var in part.inputs if var not in equation.inputs}
    return sum(var.spec.nbytes for var in added) <= value.spec.nbytes
