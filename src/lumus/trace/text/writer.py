"""A saved program as text: one line for each thing that it has (docs/saved-programs.md)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import PurePath
from typing import Any

import numpy as np

from lumus.core.dtypes import bfloat16
from lumus.core.site import Line, Site, line_of
from lumus.trace.program import Capture, Equation, Program, Var
from lumus.trace.text.expressions import NAME
from lumus.trace.text.kernels import kernel_text
from lumus.trace.text.saved import (
    SavedProgram,
    check_savable,
    is_inline,
    unsavable,
    weight_names,
)
from lumus.trace.text.trees import tree_text
from lumus.trace.text.values import plain_text, spec_text

VERSION = 1
HEAD = "lumus program"
MAX_SITES = 3
"""How many of the lines that an equation comes from are told."""


def saved_text(saved: SavedProgram, digest: str | None) -> str:
    """The text of a program whose weights are in a file of that SHA-256; None without weights.

    Raises TraceError for what a file cannot hold, naming it.
    """
    check_savable(saved.program)
    return "\n".join([*_lines(saved, digest), "end", ""])


def _lines(saved: SavedProgram, digest: str | None) -> Iterator[str]:
    program = saved.program
    names = _Numbers(program)
    yield f"{HEAD} {VERSION}"
    yield f"name {json.dumps(program.name)}"
    if digest is not None:
        yield f"weights sha256 {json.dumps(digest)}"
    for var in program.inputs:
        yield f"argument {names.declared(var)} {json.dumps(var.label)}"
    yield from _captures(program, names)
    for host in program.hosts:
        source: Any = host.source
        yield f"random {names.declared(host.var)} {source.blocks}"
    for one in program.equations:
        yield _equation(one, names)
    for write in program.writes:
        line = f"write {names[write.target]} = {names[write.value]} by {json.dumps(write.op)}"
        yield line + _sites([write.site] if write.site else [])
    refuse = partial(unsavable, program.name)
    arguments = (names[var] for var in program.inputs)
    yield f"arguments {tree_text(saved.arguments, arguments, partial(refuse, 'arguments'))}"
    results = _results(saved, names)
    yield f"return {tree_text(saved.results, results, partial(refuse, 'results'))}"


class _Numbers:
    """%0, %1, ...: the names of values, in the order of their lines."""

    def __init__(self, program: Program) -> None:
        self._of: dict[Var, str] = {}
        for var in program.given():
            self._of[var] = f"%{len(self._of)}"
        for one in program.equations:
            for var in one.outputs:
                self._of[var] = f"%{len(self._of)}"

    def __getitem__(self, var: Var) -> str:
        return self._of[var]

    def declared(self, var: Var) -> str:
        """A value's name with its type."""
        return f"{self._of[var]}: {spec_text(var.spec)}"


def _captures(program: Program, names: _Numbers) -> Iterator[str]:
    written = {write.target for write in program.writes}
    stored = weight_names(program)
    for capture in program.captures:
        kind = "constant" if capture.constant else "weight"
        kind = "state" if capture.var in written else kind
        line = f"{kind} {names.declared(capture.var)}"
        if is_inline(capture):
            yield f"{line} {json.dumps(capture.var.label)} = {_elements(capture)}"
        else:
            yield f"{line} {json.dumps(stored[capture.var])}"


def _elements(capture: Capture) -> str:
    spec = capture.var.spec
    array = spec.device.copy_out(capture.data, spec).reshape(-1)
    if spec.dtype is bfloat16:  # its bits, which are the upper ones of a float32
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return f"[{', '.join(str(plain_text(value)) for value in array.tolist())}]"


def _equation(one: Equation, names: _Numbers) -> str:
    left = ", ".join(names.declared(var) for var in one.outputs)
    operands = ", ".join(names[var] for var in one.inputs)
    op = one.op if NAME.fullmatch(one.op) else json.dumps(one.op)
    right = f"{op} {kernel_text(one.kernel)} of ({operands})"
    return f"{left} = {right}{_sites(one.sites)}"


def _sites(sites: Iterable[Site | Line]) -> str:
    """The names of files alone: where they are is true on one machine, and nobody's business."""
    found: list[str] = []
    for site in sites:
        file, number = line_of(site)
        told = f"{json.dumps(PurePath(file).name)} {number}"
        if told not in found:
            found.append(told)
    return f"  # {', '.join(found[:MAX_SITES])}" if found else ""


def _results(saved: SavedProgram, names: _Numbers) -> Iterator[str]:
    outputs = iter(saved.program.outputs)
    for place in saved.passed:
        if place is None:
            yield names[next(outputs)]
        else:
            yield f"same {names[saved.program.inputs[place]]}"
