"""The program that tracing makes: typed equations in single assignment, and what it touches.

A program is data: it can be printed, checked, rewritten and run. Values (`Var`) are written once.
What the traced function wrote in place is a declared effect: a `Write` says which captured array
has which value when the program ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from lumus.core.device import Data
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.mode import Source
from lumus.core.site import Line, Site
from lumus.core.spec import Spec
from lumus.trace.printer import program_text


class Var:
    """A value of a program. Compared by identity; `label` is a name that the user would know."""

    __slots__ = ("label", "spec")

    def __init__(self, spec: Spec, label: str = "") -> None:
        self.spec = spec
        self.label = label

    def __repr__(self) -> str:
        return f"<{self.label or 'value'}: {self.spec!r}>"


@frozen
class Equation:
    """``outputs = kernel(inputs)``: one op, or what passes have joined of several.

    `op` is its name. `attrs` are those of the op; what a pass has made of several ops has no attrs,
    and no other meaning than its kernel. `sites` are the lines that it comes from.
    """

    op: str
    attrs: Any
    kernel: Kernel
    inputs: tuple[Var, ...]
    outputs: tuple[Var, ...]
    sites: tuple[Site | Line, ...] = ()

    def with_inputs(self, inputs: tuple[Var, ...]) -> Equation:
        """The same computation of other values."""
        return Equation(self.op, self.attrs, self.kernel, inputs, self.outputs, self.sites)


@frozen
class Capture:
    """An array that existed before: a parameter, a buffer, an optimiser's state. Read as it is.

    `constant` says that nobody may write it (a number, frozen memory), so that its values may be
    built into the program.
    """

    var: Var
    data: Data
    constant: bool


@frozen
class HostInput:
    """An input whose few numbers come from Python at each call."""

    var: Var
    source: Source


@frozen
class Write:
    """The value that a captured array has when the program has run; `op` at `site` wrote it."""

    target: Var
    value: Var
    op: str
    site: Site | Line | None


class Program:
    """Inputs, captured arrays and host inputs; equations in an order that computes; results.

    `outputs` are what the function returned, `writes` what it wrote in place. Every Var that is
    used is an input, a capture, a host input, or the output of an earlier equation.
    """

    __slots__ = ("captures", "equations", "hosts", "inputs", "name", "outputs", "writes")

    def __init__(
        self,
        name: str,
        inputs: Sequence[Var],
        captures: Sequence[Capture],
        hosts: Sequence[HostInput],
        equations: Iterable[Equation],
        outputs: Sequence[Var],
        writes: Sequence[Write],
    ) -> None:
        self.name = name
        self.inputs = tuple(inputs)
        self.captures = tuple(captures)
        self.hosts = tuple(hosts)
        self.equations = tuple(equations)
        self.outputs = tuple(outputs)
        self.writes = tuple(writes)

    def __str__(self) -> str:
        return program_text(self)

    def __repr__(self) -> str:
        return f"<program {self.name}: {len(self.equations)} equations>"

    def with_equations(self, equations: Iterable[Equation]) -> Program:
        """The same program with other equations, which compute the same results."""
        return self.with_results(equations, self.outputs, self.writes)

    def with_results(
        self, equations: Iterable[Equation], outputs: Sequence[Var], writes: Sequence[Write]
    ) -> Program:
        """The same program with other equations and results."""
        return Program(
            self.name, self.inputs, self.captures, self.hosts, equations, outputs, writes
        )

    def with_captures(self, captures: Sequence[Capture]) -> Program:
        """The same program with other captured arrays."""
        return Program(
            self.name,
            self.inputs,
            captures,
            self.hosts,
            self.equations,
            self.outputs,
            self.writes,
        )

    def given(self) -> Iterator[Var]:
        """Every value that no equation computes."""
        yield from self.inputs
        yield from (capture.var for capture in self.captures)
        yield from (host.var for host in self.hosts)

    def results(self) -> Iterator[Var]:
        """Every value that is wanted in the end."""
        yield from self.outputs
        yield from (write.value for write in self.writes)

    def makers(self) -> dict[Var, Equation]:
        """The equation that computes each value."""
        return {var: one for one in self.equations for var in one.outputs}

    def uses(self) -> dict[Var, int]:
        """How often each value is read: by equations (once for each place) and as a result."""
        counts: dict[Var, int] = {}
        for one in self.equations:
            for var in one.inputs:
                counts[var] = counts.get(var, 0) + 1
        for var in self.results():
            counts[var] = counts.get(var, 0) + 1
        return counts

    def renamed(self, names: dict[Var, Var]) -> Program:
        """Reads of each key become reads of its value (followed through), also in the results."""

        def final(var: Var) -> Var:
            while var in names:
                var = names[var]
            return var

        return self.with_results(
            [
                one.with_inputs(tuple([final(var) for var in one.inputs]))
                if any(var in names for var in one.inputs)
                else one
                for one in self.equations
            ],
            [final(var) for var in self.outputs],
            [Write(w.target, final(w.value), w.op, w.site) for w in self.writes],
        )


Pass = Callable[[Program], Program]
"""A rewriting that keeps what a program computes."""
