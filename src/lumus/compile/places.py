"""Places in Python that a function reads or assigns: names, attributes and containers.

What stands in one can be read, told in words, watched by a snapshot, and put back.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import CellType, MemberDescriptorType
from typing import Any, cast

import numpy as np

from lumus.core.frozen import frozen
from lumus.core.watch import CHANGES, Snapshot

NUMBERS = (bool, int, float, str, type(None))
_VALUES = (*NUMBERS, bytes, range, slice)
GONE = object()
"""What stands in a place where nothing is."""
LARGE = 1000
"""How many items of a container are looked at one by one."""
_LONGEST = 40  # characters of a value that is told


@frozen
class Cell:
    """An enclosed name."""

    cell: CellType

    def read(self) -> Any:
        """What it means now."""
        try:
            return self.cell.cell_contents
        except ValueError:
            return GONE

    def write(self, value: Any) -> None:
        """Gives it that meaning."""
        if value is not GONE:
            self.cell.cell_contents = value
        elif self.read() is not GONE:
            del self.cell.cell_contents

    def watch(self, snapshot: Snapshot) -> None:
        """Adds the place to a snapshot."""
        snapshot.add_cell(self.cell)


@frozen
class Global:
    """A name of a module."""

    scope: dict[str, Any]
    name: str

    def read(self) -> Any:
        """What it means now."""
        return self.scope.get(self.name, GONE)

    def write(self, value: Any) -> None:
        """Gives it that meaning."""
        if value is not GONE:
            self.scope[self.name] = value
        else:
            self.scope.pop(self.name, None)

    def watch(self, snapshot: Snapshot) -> None:
        """Adds the place to a snapshot."""
        snapshot.add_item(self.scope, self.name)


@frozen
class Attribute:
    """An attribute in the dict of an object or class, or in a slot of an object."""

    owner: Any
    name: str

    def read(self) -> Any:
        """What it means now."""
        if is_slot(self.owner, self.name):
            return getattr(self.owner, self.name, GONE)
        return (own_attributes(self.owner) or {}).get(self.name, GONE)

    def write(self, value: Any) -> None:
        """Gives it that meaning, whatever the class does when an attribute is set."""
        base = type if isinstance(self.owner, type) else object
        if value is not GONE:
            base.__setattr__(self.owner, self.name, value)
        elif self.read() is not GONE:
            base.__delattr__(self.owner, self.name)
        CHANGES.count += 1

    def watch(self, snapshot: Snapshot) -> None:
        """Adds the place to a snapshot."""
        snapshot.add_attribute(self.owner, self.name)


@frozen
class Code:
    """The code of a function."""

    function: Any

    def read(self) -> Any:
        """What it is now."""
        return self.function.__code__

    def write(self, value: Any) -> None:
        """Makes it that."""
        self.function.__code__ = value

    def watch(self, snapshot: Snapshot) -> None:
        """Adds the place to a snapshot."""
        snapshot.add_code(self.function)


@frozen
class Ancestry:
    """The class of an object and what it inherits from; of a class those of itself."""

    owner: Any

    def read(self) -> Any:
        """What they are now."""
        return (self.owner if isinstance(self.owner, type) else type(self.owner)).__mro__

    def write(self, value: Any) -> None:
        """Makes it an object of the class that has these; a class is not changed back."""
        if not isinstance(self.owner, type):
            self.owner.__class__ = value[0]

    def watch(self, snapshot: Snapshot) -> None:
        """Adds the place to a snapshot."""
        snapshot.add_ancestry(self.owner)


@frozen
class Defaults:
    """What parameters of a function mean where none is given; of those by keyword alone, or not."""

    function: Any
    by_keyword: bool

    def read(self) -> Any:
        """What they mean now."""
        return self.function.__kwdefaults__ if self.by_keyword else self.function.__defaults__

    def write(self, value: Any) -> None:
        """Gives them that meaning."""
        setattr(self.function, "__kwdefaults__" if self.by_keyword else "__defaults__", value)

    def watch(self, snapshot: Snapshot) -> None:
        """Adds the place to a snapshot."""
        snapshot.add_defaults(self.function, self.by_keyword)


Place = Cell | Global | Attribute | Code | Ancestry | Defaults


def is_slot(value: Any, name: str) -> bool:
    """Whether an object has a slot of that name."""
    if isinstance(value, type):
        return False
    return isinstance(getattr(type(value), name, None), MemberDescriptorType)


def own_attributes(value: Any) -> Mapping[str, Any] | None:
    """The dict of an object's or class's own attributes, None without one.

    A `__getattr__` of a user is not asked: it may answer, or raise, what it likes.
    """
    if isinstance(value, type):
        return vars(value)
    try:
        return cast("Mapping[str, Any]", object.__getattribute__(value, "__dict__"))
    except AttributeError:
        return None


def items_of(container: Any) -> list[Any]:
    """What a container holds, keys included; the length of one that would take long."""
    if len(container) > LARGE:
        return [len(container)]
    return [*container, *container.values()] if isinstance(container, dict) else list(container)


def same(now: Any, value: Any) -> bool:
    """Whether one stands for the other: the same object, or equal numbers or text."""
    if now.__class__ is not value.__class__:
        return False
    if isinstance(value, tuple):
        return len(now) == len(value) and all(map(same, now, value))
    if now is value:
        return True
    if isinstance(value, float | complex):  # tells -0.0 from 0.0, and finds NaN
        return repr(now) == repr(value)
    return isinstance(value, _VALUES) and bool(now == value)


def told(value: Any) -> str:
    """A value in words."""
    if isinstance(value, int) and abs(value) > 10**_LONGEST:
        return "a large int"
    if isinstance(value, NUMBERS):
        text = repr(value)
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    if value is GONE:
        return "nothing"
    if isinstance(value, np.ndarray | np.generic):
        kind = f"{value.dtype}[{', '.join(map(str, value.shape))}]"
        return f"{value!r}" if value.size == 1 else f"an array {kind}"
    name = getattr(value, "__qualname__", "")
    return f"{type(value).__name__} {name or 'object'}"


def told_change(value: Any, now: Any) -> str:
    """In words, that `value` has become `now`."""
    before, after = told(value), told(now)
    return f"another {type(now).__name__}" if before == after else f"{before} -> {after}"
