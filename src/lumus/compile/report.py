"""What a compiled function tells of itself: its variants, and what a plan does."""

from __future__ import annotations

from lumus import _native
from lumus.compile.cost import cost_of, machine_rates
from lumus.compile.lower_cpu import Lowered, Row
from lumus.core import kernels
from lumus.core.frozen import frozen
from lumus.core.site import describe


class VariantInfo:
    """One specialisation of a compiled function.

    `signature` is the kind of call that it is for, `reason` why it was made, `trace_s` and
    `compile_s` how long that took (seconds), `arena_bytes` what its plan needs of the function's
    arena, `naive_bytes` what the values in it would take without sharing, `num_calls` how often it
    ran.
    """

    __slots__ = (
        "arena_bytes",
        "compile_s",
        "naive_bytes",
        "name",
        "reason",
        "signature",
        "trace_s",
        "uses",
    )

    def __init__(self, name: str, signature: tuple[str, ...], reason: str) -> None:
        self.name = name
        self.signature = signature
        self.reason = reason
        self.trace_s = 0.0
        self.compile_s = 0.0
        self.arena_bytes = 0
        self.naive_bytes = 0
        self.uses = _native.Uses()

    @property
    def num_calls(self) -> int:
        """How often it ran."""
        return self.uses.count

    def __str__(self) -> str:
        return (
            f"({', '.join(self.signature)}): {self.reason}; traced in {self.trace_s * 1e3:.1f} ms, "
            f"compiled in {self.compile_s * 1e3:.1f} ms, arena {self.arena_bytes:,} bytes "
            f"(unshared {self.naive_bytes:,}), {counted(self.num_calls, 'call')}"
        )


@frozen
class CacheInfo:
    """The variants of a compiled function, in the order in which they were made.

    `arena_bytes` is the memory that they compute in, one after the other: what the largest of them
    needs.
    """

    name: str
    variants: tuple[VariantInfo, ...]
    arena_bytes: int

    def __str__(self) -> str:
        many = counted(len(self.variants), "variant")
        lines = [f"{self.name}: {many}, an arena of {self.arena_bytes:,} bytes"]
        lines += [f"  {number}. {one}" for number, one in enumerate(self.variants, 1)]
        return "\n".join(lines)


def explanation(name: str, lowered: Lowered) -> str:
    """What a plan does, a line for each equation that runs: how, what it moves, where it is from.

    With the least time that each can take on this machine, by its products or the bytes it moves.
    Then the memory: what it needs of the arena, of its values unshared, the most that is alive at
    once, and the arena as it is, for this plan and those that share it.
    """
    rates, rows = machine_rates(), [row for row in lowered.rows if row.how != "view"]
    costs = [cost_of(row.equation) for row in rows]
    lines = [f"{name}: {counted(len(rows), 'kernel')}"]
    for row, cost in zip(rows, costs, strict=True):
        bound = cost.bound_s(rates) * 1e6
        lines.append(
            f"  {_told(row)}  {cost.nbytes:,} bytes, {cost.operations:,} operations, "
            f"at least {bound:.2f} us{_where(row)}"
        )
    views, memory = len(lowered.rows) - len(rows), lowered.memory
    lines += [
        f"{counted(views, 'view')} at no cost",
        f"moves {sum(one.nbytes for one in costs):,} bytes and does "
        f"{sum(one.operations for one in costs):,} operations; at least "
        f"{sum(one.bound_s(rates) for one in costs) * 1e6:.1f} us at "
        f"{rates.operations / 1e9:.0f} billion operations and {rates.nbytes / 1e9:.0f} GB a second",
        f"memory: arena {memory.arena_bytes:,} bytes; without sharing {memory.naive_bytes:,}; "
        f"alive at once {memory.peak_bytes:,}; held for all plans {lowered.arena.nbytes:,}",
    ]
    return "\n".join(lines)


def counted(count: int, what: str) -> str:
    """``1 variant``, ``2 variants``."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _told(row: Row) -> str:
    equation = row.equation
    specs = ", ".join(map(repr, (var.spec for var in equation.outputs)))
    how = " (called back in Python)" if row.how == "call" else ""
    return f"{equation.op} -> {specs}{how}{_expression(equation.kernel)}"


def _expression(kernel: kernels.Kernel) -> str:
    match kernel:
        case kernels.Elementwise(expression):
            return f" {expression}"
        case kernels.WithEpilogue(_, epilogue):
            return f" then {epilogue}"
        case _:
            return ""


def _where(row: Row) -> str:
    return f"  # {describe(row.equation.sites[0])}" if row.equation.sites else ""
