"""recompute: cheap values are computed again where they are needed late, rather than kept.

What a forward pass leaves for the backward one makes the peak of memory. A value that is a short
expression of others that are still there then need not be kept: the same expression, computed
again, gives the same bits. Passes that merge equations (cse, fuse) would undo
it, and so do not run after this one.
"""

from __future__ import annotations

from collections.abc import Mapping

from lumus.compile.passes.lifetimes import Lifetimes
from lumus.compile.passes.views import is_view
from lumus.core.broadcast import broadcast_shapes
from lumus.core.kernels.elementwise import Cast, Elementwise
from lumus.core.scalar.expressions import Expression, substitute
from lumus.core.scalar.nodes import Call, Input, Scalar, postorder
from lumus.core.scalar.program import Types
from lumus.trace.program import Equation, Program, Var

MIN_BYTES = 1 << 16
"""Smaller values are kept: they lie in a cache, and an equation more costs as much."""

MAX_COST = 32
"""What it may cost to compute a value again: 1 for each sum or product of an element.

Enough for a gelu, which is little beside the matrix products that read it.
"""

MIN_GAIN = 0.05
"""The part of the peak that must be saved: running equations again takes time."""

MAX_ROUNDS = 8

_COSTS = {
    **dict.fromkeys(
        [
            "absolute", "add", "bitwise_and", "bitwise_invert", "bitwise_or", "bitwise_xor",
            "cast", "ceil", "equal", "floor", "greater", "greater_equal", "isfinite", "isinf",
            "isnan", "less", "less_equal", "logical_and", "logical_not", "logical_or",
            "logical_xor", "maximum", "minimum", "multiply", "negative", "not_equal", "round",
            "select", "sign", "square", "subtract", "trunc",
        ],
        1,
    ),
    **dict.fromkeys(["divide", "reciprocal", "rsqrt", "sqrt"], 4),
    **dict.fromkeys(["cos", "erf", "exp", "exp2", "expm1", "log", "log1p"], 12),
    **dict.fromkeys(["sigmoid", "sin", "tanh"], 12),
}  # fmt: skip


def recompute(program: Program, *, max_cost: int = MAX_COST) -> Program:
    """The program with values computed again where that lowers its peak of memory."""
    given, best = program, program
    lifetimes = lowest = before = Lifetimes(program)
    for _ in range(MAX_ROUNDS):
        changed = _Round(program, lifetimes, max_cost).program()
        if changed is program:
            break
        program, lifetimes = changed, Lifetimes(changed)
        # Of two peaks of one height the first round lowers one, the second the other.
        if lifetimes.peak < lowest.peak:
            best, lowest = program, lifetimes
    return best if lowest.peak <= before.peak * (1 - MIN_GAIN) else given


class _Round:
    """One look at the equation where the most memory is alive, and at what is only kept over it."""

    def __init__(self, source: Program, lifetimes: Lifetimes, max_cost: int) -> None:
        self.source = source
        self.lifetimes = lifetimes
        self.max_cost = max_cost
        self.peak_at = lifetimes.alive.index(lifetimes.peak) if lifetimes.alive else 0
        self.costs: dict[Expression, int] = {}
        # Of each memory: who reads it, and through which of its views.
        self.reads: dict[Var, list[tuple[int, Var]]] = {}
        for at, one in enumerate(source.equations):
            for var in dict.fromkeys(one.inputs):
                self.reads.setdefault(lifetimes.root(var), []).append((at, var))
        self.written = {write.target for write in source.writes}
        # Values that must be there where something is computed again of them.
        self.relied_on: set[Var] = set()
        self.dropped: set[Var] = set()
        # What is computed again before an equation, and what is read after the peak instead of it.
        self.before: dict[int, list[Equation]] = {}
        self.again: dict[Var, Var] = {}

    def program(self) -> Program:
        """The program in which what can be computed again is; the same one if nothing can."""
        for var in self._kept_over_the_peak():
            self._try(var)
        if not self.before:
            return self.source
        equations: list[Equation] = []
        for at, one in enumerate(self.source.equations):
            equations += self.before.get(at, ())
            late = at > self.peak_at and any(var in self.again for var in one.inputs)
            equations.append(_reading(one, self.again) if late else one)
        return self.source.with_equations(equations)

    def _kept_over_the_peak(self) -> list[Var]:
        """Values that are alive at the peak and not read there, the largest first."""
        lifetimes, peak_at = self.lifetimes, self.peak_at
        end = len(self.source.equations)
        found = [
            var
            for var, first in lifetimes.first.items()
            if first < peak_at < lifetimes.last[var] < end
            and var.spec.nbytes >= MIN_BYTES
            and all(at != peak_at for at, _ in self.reads[var])
        ]
        return sorted(found, key=lambda var: (-var.spec.nbytes, lifetimes.first[var]))

    def _try(self, kept: Var) -> None:
        """Has a value computed again before it is first read after the peak, if that is cheap."""
        late = [(at, var) for at, var in self.reads[kept] if at > self.peak_at]
        wanted = [var for _, var in late if self.lifetimes.maker[var] <= self.peak_at]
        if kept in self.relied_on or not wanted:
            return
        chain = self._chain(kept, wanted, late[-1][0])
        if chain is None:
            return
        made: dict[Var, Var] = {}
        before = self.before.setdefault(late[0][0], [])
        for var, alone in chain:
            one = _reading(alone, made)
            made[var] = Var(var.spec, var.label)
            self.relied_on.update(self.lifetimes.root(read) for read in one.inputs)
            before.append(
                Equation(one.op, one.attrs, one.kernel, one.inputs, (made[var],), one.sites)
            )
        self.again.update((var, made[var]) for var in wanted)
        self.dropped.add(kept)

    def _chain(self, kept: Var, wanted: list[Var], last: int) -> list[tuple[Var, Equation]] | None:
        """The equations to run again for `kept` and its views; None if they are not cheap.

        What they read is there until equation `last`, when `kept` is read for the last time.
        """
        chain: dict[Var, Equation] = {}
        pending = list(wanted)
        cost = 0
        while pending:
            var = pending.pop()
            if var in chain:
                continue
            at = self.lifetimes.maker.get(var)
            alone = None if at is None else _alone(self.source.equations[at], var)
            if alone is None:
                return None
            chain[var] = alone
            cost += self._cost(alone)
            if cost > self.max_cost:
                return None
            pending += [
                read
                for read in alone.inputs
                if self.lifetimes.root(read) is kept or not self._is_there(read, last)
            ]
        return sorted(chain.items(), key=lambda item: self.lifetimes.maker[item[0]])

    def _is_there(self, var: Var, last: int) -> bool:
        """Whether a value can be read until then without living longer for it."""
        root = self.lifetimes.root(var)
        if root in self.dropped:
            return False
        if root in self.lifetimes.maker:
            return self.lifetimes.last.get(root, -1) >= last
        # What is written in place keeps its old value as long as that is read anyway.
        return root not in self.written or self.reads[root][-1][0] >= last

    def _cost(self, one: Equation) -> int:
        """What an equation costs: views nothing, a copying reshape 4, other kernels too much."""
        match one.kernel:
            case Elementwise(expression):
                if expression not in self.costs:
                    self.costs[expression] = sum(
                        _COSTS.get(node.function, self.max_cost + 1)
                        for node in postorder(expression.outputs)
                        if isinstance(node, Call)
                    )
                return self.costs[expression]
            case Cast():
                return 1
            case _:
                if not is_view(one):
                    return self.max_cost + 1
                return 0 if one.outputs[0] in self.lifetimes.memory else 4


def _reading(one: Equation, names: Mapping[Var, Var]) -> Equation:
    return one.with_inputs(tuple([names.get(var, var) for var in one.inputs]))


def _alone(one: Equation, var: Var) -> Equation | None:
    """The equation that makes `var` and nothing else; None if there is none of the same bits."""
    if len(one.outputs) == 1:
        return one
    if not isinstance(one.kernel, Elementwise):
        return None
    expression = one.kernel.expression
    output = expression.outputs[one.outputs.index(var)]
    used = [node.index for node in postorder([output]) if isinstance(node, Input)]
    inputs = tuple([one.inputs[index] for index in used])
    if not inputs or not _same_shape_and_dtypes(one.inputs, inputs):
        return None
    places: list[Scalar] = [Input(0)] * len(one.inputs)
    for place, index in enumerate(used):
        places[index] = Input(place)
    parameters = tuple([expression.parameters[index] for index in used])
    kernel = Elementwise(Expression(parameters, substitute([output], places)))
    return Equation(one.op, None, kernel, inputs, (var,), one.sites)


def _same_shape_and_dtypes(inputs: tuple[Var, ...], fewer: tuple[Var, ...]) -> bool:
    """Whether fewer operands broadcast to the same shape, and compute in the same dtypes."""
    shapes = [
        broadcast_shapes("recompute", *[var.spec.shape for var in x]) for x in (inputs, fewer)
    ]
    before, after = (Types([], [var.spec.dtype for var in x]).compute for x in (inputs, fewer))
    return shapes[0] == shapes[1] and all(before[kind] is dtype for kind, dtype in after.items())
