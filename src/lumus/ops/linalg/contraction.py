"""The order in which several tensors with labelled axes are best multiplied, two at a time."""

from __future__ import annotations

import math
from itertools import combinations

Labels = tuple[int, ...]
Order = tuple[tuple[int, int], ...]
"""Which two parts to multiply next; the product goes to the end of the list without them."""

MAX_EXACT = 6


def contraction_order(terms: tuple[Labels, ...], output: Labels, lengths: dict[int, int]) -> Order:
    """The order with the fewest multiplications: exactly for few terms, else greedily.

    A product of two terms costs one multiplication for each combination of their labels' indices.
    """
    order: list[tuple[int, int]] = []
    parts = [frozenset(term) for term in terms]
    if len(parts) <= 2:
        return ((0, 1),) * (len(parts) - 1)
    if len(parts) <= MAX_EXACT:
        return _as_steps(_best_tree(parts, frozenset(output), lengths), len(parts))
    while len(parts) > 1:
        first, second = min(
            combinations(range(len(parts)), 2),
            key=lambda pair: _cost(parts[pair[0]] | parts[pair[1]], lengths),
        )
        merged = parts[first] | parts[second]
        parts = [part for place, part in enumerate(parts) if place not in (first, second)]
        parts.append(merged & frozenset(output).union(*parts))
        order.append((first, second))
    return tuple(order)


def _cost(labels: frozenset[int], lengths: dict[int, int]) -> int:
    return math.prod(lengths[label] for label in labels)


Tree = int | tuple["Tree", "Tree"]
"""One of the terms, or the product of two trees."""


def _best_tree(
    parts: list[frozenset[int]], output: frozenset[int], lengths: dict[int, int]
) -> Tree:
    """The cheapest tree over all terms, from the cheapest over each set of them."""
    everything = frozenset(range(len(parts)))

    def left_over(chosen: frozenset[int]) -> frozenset[int]:
        """The labels of the product of the chosen terms that are still needed."""
        inside = frozenset[int]().union(*(parts[place] for place in chosen))
        return inside & output.union(*(parts[place] for place in everything - chosen))

    best: dict[frozenset[int], tuple[int, Tree]] = {
        frozenset([place]): (0, place) for place in everything
    }
    for count in range(2, len(parts) + 1):
        for members in combinations(range(len(parts)), count):
            chosen = frozenset(members)
            found: list[tuple[int, Tree]] = []
            # Each split once: the first member is always on the left.
            for size in range(count - 1):
                for others in combinations(members[1:], size):
                    left = frozenset([members[0], *others])
                    right = chosen - left
                    cost = _cost(left_over(left) | left_over(right), lengths)
                    total = cost + best[left][0] + best[right][0]
                    found.append((total, (best[left][1], best[right][1])))
            best[chosen] = min(found, key=lambda one: one[0])
    return best[everything][1]


def _as_steps(tree: Tree, count: int) -> Order:
    """A tree as steps on a list of parts, from which each step takes two and appends one."""
    steps: list[tuple[int, int]] = []
    parts: list[Tree] = list(range(count))

    def walk(node: Tree) -> None:
        if isinstance(node, int):
            return
        for child in node:
            walk(child)
        first, second = sorted(parts.index(child) for child in node)
        del parts[second], parts[first]
        parts.append(node)
        steps.append((first, second))

    walk(tree)
    return tuple(steps)
