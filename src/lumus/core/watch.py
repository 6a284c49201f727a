"""What compiled functions look at to know that Python around them has changed.

A holder of tensors (a module, an optimiser) says what it holds; `CHANGES` counts how often any
holder was changed. A `Snapshot` remembers which objects stand in attributes, cells and containers,
so that a compiled call looks closer only when another one stands there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from lumus import _native

Snapshot = _native.Snapshot
"""Places in Python objects, and the objects that stood there when it was taken.

`holds` says whether the very same ones still do.
"""


class Identities:
    """Objects that are equal to others if they are the very same."""

    __slots__ = ("_objects",)

    def __init__(self, objects: Iterable[Any]) -> None:
        self._objects = list(objects)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identities) and self._keys() == other._keys()

    def __hash__(self) -> int:
        return hash(tuple(self._keys()))

    def __repr__(self) -> str:
        return f"{len(self._objects)} objects"

    def _keys(self) -> list[int]:
        return list(map(id, self._objects))


class Holder(Protocol):
    """An object with tensors and settings that a compiled function may have built in."""

    def watched(self) -> Iterator[tuple[str, Any]]:
        """(name, value) of everything that a traced function may have read from it."""
        ...

    def assignable_parts(self) -> Iterator[tuple[str, Any, bool]]:
        """(name, part, is_input) of objects and containers whose attributes and items are settings.

        A program does not set them when a traced function does; those that are inputs of each call
        (such as rates) must stand before it.
        """
        ...


class _Changes:
    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


CHANGES = _Changes()
"""Its `count` goes up whenever an attribute of a holder is set."""
