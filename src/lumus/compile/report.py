"""What a compiled function tells of itself: its variants, and what a plan does."""

from __future__ import annotations

from lumus.compile.lower_cpu import Lowered, Row
from lumus.core import kernels
from lumus.core.frozen import frozen
from lumus.core.scalar.nodes import Call, postorder
from lumus.core.site import describe
from lumus.trace.program import Equation


class VariantInfo:
    """One specialisation of a compiled function.

    `signature` is the kind of call that it is for, `reason` why it was made, `trace_s` and
    `compile_s` how long that took (seconds), `arena_bytes` the memory that its plan holds,
    `naive_bytes` what the values in it would take without sharing, `num_calls` how often it ran.
    """

    __slots__ = (
        "arena_bytes",
        "compile_s",
        "naive_bytes",
        "name",
        "num_calls",
        "reason",
        "signature",
        "trace_s",
    )

    def __init__(self, name: str, signature: tuple[str, ...], reason: str) -> None:
        self.name = name
        self.signature = signature
        self.reason = reason
        self.trace_s = 0.0
        self.compile_s = 0.0
        self.arena_bytes = 0
        self.naive_bytes = 0
        self.num_calls = 0

    def __str__(self) -> str:
        return (
            f"({', '.join(self.signature)}): {self.reason}; traced in {self.trace_s * 1e3:.1f} ms, "
            f"compiled in {self.compile_s * 1e3:.1f} ms, arena {self.arena_bytes:,} bytes "
            f"(unshared {self.naive_bytes:,}), {self.num_calls} calls"
        )


@frozen
class CacheInfo:
    """The variants of a compiled function, in the order in which they were made."""

    name: str
    variants: tuple[VariantInfo, ...]

    def __str__(self) -> str:
        lines = [f"{self.name}: {len(self.variants)} variants"]
        lines += [f"  {number}. {one}" for number, one in enumerate(self.variants, 1)]
        return "\n".join(lines)


def explanation(name: str, lowered: Lowered) -> str:
    """What a plan does, a line for each equation that runs: how, what it moves, where it is from.

    Then the memory: of the arena, of its values unshared, and the most that is alive at once.
    """
    lines = [f"{name}: {len(lowered.rows)} equations"]
    moved = operations = 0
    for row in lowered.rows:
        if row.how == "view":
            continue
        nbytes, flops = _moved(row.equation), _flops(row.equation)
        moved, operations = moved + nbytes, operations + flops
        lines.append(f"  {_told(row)}  {nbytes:,} bytes, {flops:,} operations{_where(row)}")
    views = sum(row.how == "view" for row in lowered.rows)
    lines.append(f"{views} views, which cost nothing")
    lines.append(f"moves {moved:,} bytes and does {operations:,} operations")
    memory = lowered.memory
    lines.append(
        f"memory: arena {memory.arena_bytes:,} bytes; without sharing {memory.naive_bytes:,}; "
        f"alive at once {memory.peak_bytes:,}"
    )
    return "\n".join(lines)


def _told(row: Row) -> str:
    equation = row.equation
    specs = ", ".join(map(repr, (var.spec for var in equation.outputs)))
    how = " (called back in Python)" if row.how == "call" else ""
    inner = equation.kernel
    text = f" {inner.expression}" if isinstance(inner, kernels.Elementwise) else ""
    return f"{equation.op} -> {specs}{how}{text}"


def _where(row: Row) -> str:
    return f"  # {describe(row.equation.sites[0])}" if row.equation.sites else ""


def _moved(equation: Equation) -> int:
    """Bytes of all operands: each read, or written, once."""
    return sum(var.spec.nbytes for var in (*equation.inputs, *equation.outputs))


def _flops(equation: Equation) -> int:
    """Floating-point operations, by the kernel: products count two for each pair."""
    kernel, output = equation.kernel, equation.outputs[0].spec
    match kernel:
        case kernels.MatMul():
            return 2 * output.size * equation.inputs[0].spec.shape[-1]
        case kernels.Elementwise(expression):
            calls = sum(isinstance(node, Call) for node in postorder(expression.outputs))
            return calls * output.size
        case kernels.Copy() | kernels.Reshape() | kernels.Cast():
            return 0
        case _:
            return max(var.spec.size for var in (*equation.inputs, *equation.outputs))
