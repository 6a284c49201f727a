"""What a saved program holds, and what it cannot hold."""

from __future__ import annotations

from typing import Any

from lumus.core.frozen import frozen
from lumus.core.kernels.outside import Callback
from lumus.core.kernels.shape import BroadcastTo, Permute, Reshape, Slice
from lumus.core.site import describe
from lumus.core.tree import Branch, Tree
from lumus.errors import TraceError
from lumus.ops.random.generator import KeySource, default_generator
from lumus.trace.program import Capture, Equation, Program, Var

MAX_INLINE = 16
"""How many elements of a constant may stand in the text; others are beside the weights."""


@frozen
class SavedProgram:
    """A program with the form of its arguments, ``(args, kwargs)``, and of what it returns.

    `passed` says of each tensor returned which argument it is; None: the next output.
    """

    program: Program
    arguments: Branch
    results: Tree
    passed: tuple[int | None, ...]


def is_inline(capture: Capture) -> bool:
    """Whether its elements stand in the text."""
    return capture.constant and capture.var.spec.size <= MAX_INLINE


def weight_names(program: Program) -> dict[Var, str]:
    """The names of arrays in the file beside the text: their labels, made different."""
    names: dict[Var, str] = {}
    taken = {"__metadata__"}
    for capture in program.captures:
        if not is_inline(capture):
            label = capture.var.label or ("constant" if capture.constant else "tensor")
            name, number = label, 1
            while name in taken:
                number += 1
                name = f"{label}_{number}"
            taken.add(name)
            names[capture.var] = name
    return names


def check_savable(program: Program) -> None:
    """Raises TraceError, which names it, for what needs Python when the program runs."""
    for one in program.equations:
        if isinstance(one.kernel, Callback):
            raise TraceError(
                f"save: {program.name} calls {one.op}{_at(one)}, which is Python code; a file "
                "cannot hold it",
                hint="write it with lumus's own functions, or ship the Python source",
                op=one.op,
            )
    for host in program.hosts:
        if not isinstance(host.source, KeySource):
            raise _needs_numbers(program, host.var)
        if host.source.generator is not default_generator:
            raise TraceError(
                f"save: {program.name} draws random numbers from a Generator of its own, which a "
                "file cannot hold",
                hint="leave generator= out: a loaded program draws from the default one",
            )
    devices = {var.spec.device.name for var in program.given()}
    if len(devices) > 1:
        raise TraceError(
            f"save: {program.name} has values on {', '.join(sorted(devices))}; it can be saved if "
            "all are on one device"
        )


def _needs_numbers(program: Program, var: Var) -> TraceError:
    """The error for numbers that Python gives at each call: what they are for."""
    reached = {var}
    for one in program.equations:
        if reached.isdisjoint(one.inputs):
            continue
        if isinstance(one.kernel, Slice | Reshape | BroadcastTo | Permute):
            reached.update(one.outputs)
            continue
        return TraceError(
            f"save: {program.name} runs {one.op}{_at(one)}, whose numbers (a rate, a count of "
            "steps) Python gives anew at each call; a file cannot hold that",
            hint="save a function that only computes what the model says: a training step needs "
            "its Python source",
            op=one.op,
        )
    return TraceError(f"save: {program.name} reads numbers that Python gives anew at each call")


def _at(one: Equation) -> str:
    return f" at {describe(one.sites[0])}" if one.sites else ""


def unsavable(name: str, what: str, kind: type[Any]) -> TraceError:
    """The error for a value of that type among arguments or results."""
    return TraceError(
        f"save: {what} of {name} hold {_article(kind.__name__)}, which a file cannot hold",
        hint="give and return tensors, numbers, text, None, dtypes, and lists, tuples and dicts of "
        "them; a model can be enclosed: lumus.compile(lambda x: model(x))",
    )


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'AEIOUaeiou' else 'a'} {noun}"
