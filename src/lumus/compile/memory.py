"""The memory plan: where in one arena each value of a program lies, by when it is needed."""

from __future__ import annotations

from collections.abc import Sequence

from lumus.core.frozen import frozen

ALIGNMENT = 64


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

    Two values share bytes only if no step needs both. Linear in the number of values times those
    alive with it.

    Source: the greedy-by-size strategy of Pisarchyk and Lee, "Efficient Memory Management for Deep
    Neural Net Inference", 2020.
    """
    sizes = [_rounded(one.nbytes) for one in lifetimes]
    order = sorted(range(len(lifetimes)), key=lambda at: (-sizes[at], lifetimes[at].first, at))
    offsets = [0] * len(lifetimes)
    placed: list[int] = []
    for at in order:
        if sizes[at]:
            offsets[at] = _lowest_place(at, placed, lifetimes, sizes, offsets)
            placed.append(at)
    arena = max((offsets[at] + sizes[at] for at in placed), default=0)
    return MemoryPlan(tuple(offsets), arena, sum(sizes), _peak(lifetimes, sizes))


def _rounded(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def _lowest_place(
    at: int,
    placed: Sequence[int],
    lifetimes: Sequence[Lifetime],
    sizes: Sequence[int],
    offsets: Sequence[int],
) -> int:
    one = lifetimes[at]
    taken = sorted(
        (offsets[other], offsets[other] + sizes[other])
        for other in placed
        if lifetimes[other].first <= one.last and one.first <= lifetimes[other].last
    )
    place = 0
    for start, stop in taken:
        if start - place >= sizes[at]:
            break
        place = max(place, stop)
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
