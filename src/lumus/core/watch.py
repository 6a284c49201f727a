"""What compiled functions look at to know that Python around them has changed.

A holder of tensors (a module, an optimiser) says what it holds; `changes` counts how often any
holder was changed, so that a compiled call looks closer only when it has to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol


class Holder(Protocol):
    """An object with tensors and settings that a compiled function may have built in."""

    def watched(self) -> Iterator[tuple[str, Any]]:
        """(name, value) of everything that a traced function may have read from it."""
        ...


class _Changes:
    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


CHANGES = _Changes()
"""Its `count` goes up whenever an attribute of a holder is set."""
