"""What a compiled function tells of itself: its variants, and what a plan does."""

from __future__ import annotations

from lumus.compile.lower_cpu import Lowered
from lumus.core.frozen import frozen


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

    def __init__(self, name: str, signature: str, reason: str) -> None:
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
            f"{self.signature}: {self.reason}; traced in {self.trace_s * 1e3:.1f} ms, compiled in "
            f"{self.compile_s * 1e3:.1f} ms, arena {self.arena_bytes:,} bytes "
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
    """What a plan does, a line for each equation."""
    return name
