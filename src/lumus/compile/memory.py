"""The memory plan: where in one arena each value of a program lies, by when it is needed."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence

from lumus.core.frozen import frozen

ALIGNMENT = 64

_Placed = tuple[int, int, int, int]  # from, to, the first step and the last one


@frozen
class Lifetime:
    """`nbytes` are needed from step `first` to step `last`, both included."""

    nbytes: int
    first: int
    last: int


@frozen
class MemoryPlan:
    """An offset for each lifetime, and the bytes of the arena.

    `naive_bytes` is what it would take if nothing shared memory, `peak_bytes` the most that is
    alive at one step: no plan can be smaller.
    """

    offsets: tuple[int, ...]
    arena_bytes: int
    naive_bytes: int
    peak_bytes: int


def plan_memory(lifetimes: Sequence[Lifetime]) -> MemoryPlan:
    """Packs intervals into one arena: the largest first, each at the lowest place that is free.

    Two values share bytes only if no step needs both.

    Source: the greedy-by-size strategy of Pisarchyk and Lee, "Efficient Memory Management for Deep
    Neural Net Inference", 2020.
    """
    sizes = [_rounded(one.nbytes) for one in lifetimes]
    order = sorted(range(len(lifetimes)), key=lambda at: (-sizes[at], lifetimes[at].first, at))
    offsets = [0] * len(lifetimes)
    placed: list[_Placed] = []  # by where they start
    for at in order:
        if sizes[at]:
            one = lifetimes[at]
            start = offsets[at] = _lowest_place(one, sizes[at], placed)
            insort(placed, (start, start + sizes[at], one.first, one.last))
    arena = max((stop for _, stop, _, _ in placed), default=0)
    return MemoryPlan(tuple(offsets), arena, sum(sizes), _peak(lifetimes, sizes))


def _rounded(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def _lowest_place(one: Lifetime, size: int, placed: Sequence[_Placed]) -> int:
    place = 0
    for start, stop, first, last in placed:
        if start - place >= size:
            break
        if stop > place and first <= one.last and one.first <= last:
            place = stop
    return place


def _peak(lifetimes: Sequence[Lifetime], sizes: Sequence[int]) -> int:
    changes: dict[int, int] = {}
    for one, size in zip(lifetimes, sizes, strict=True):
        changes[one.first] = changes.get(one.first, 0) + size
        changes[one.last + 1] = changes.get(one.last + 1, 0) - size
    alive = peak = 0
    for step in sorted(changes):
        alive += changes[step]
        peak = max(peak, alive)
    return peak
