"""Modules that are lists and dicts: their items are named by places and keys alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, MutableSequence
from typing import Any, Self, TypeVar, overload

from lumus.core.watch import CHANGES
from lumus.errors import ArgumentError
from lumus.nn.module import Module

T = TypeVar("T")


class ListModule(Module, MutableSequence[T]):
    """A module that is a list; its items are named ``0``, ``1``, ... and no longer.

    A subclass says what an item must be by overriding `_checked`.
    """

    _items: list[T]

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items = []
        self.extend(items)

    def _checked(self, item: Any) -> T:
        """The item as it is kept; raises ArgumentError for what cannot be one."""
        raise NotImplementedError

    def _contents(self) -> Iterable[tuple[str, Any]]:
        yield from ((str(place), item) for place, item in enumerate(self._items))
        yield from ((name, value) for name, value in vars(self).items() if name != "_items")

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> Self: ...
    def __getitem__(self, place: int | slice) -> T | Self:
        if isinstance(place, slice):
            return type(self)(self._items[place])
        return self._items[place]

    def __setitem__(self, place: Any, item: Any) -> None:
        if isinstance(place, slice):
            self._items[place] = [self._checked(one) for one in item]
        else:
            self._items[place] = self._checked(item)
        CHANGES.count += 1

    def __delitem__(self, place: int | slice) -> None:
        del self._items[place]
        CHANGES.count += 1

    def __len__(self) -> int:
        return len(self._items)

    def insert(self, index: int, value: T) -> None:
        self._items.insert(index, self._checked(value))
        CHANGES.count += 1


class DictModule(Module, MutableMapping[str, T]):
    """A module that is a dict; its items are named by their keys, in the order of insertion.

    A subclass says what an item must be by overriding `_checked`.
    """

    _items: dict[str, T]

    def __init__(self, items: Mapping[str, T] | Iterable[tuple[str, T]] = ()) -> None:
        self._items = {}
        self.update(items)

    def _checked(self, item: Any) -> T:
        """The item as it is kept; raises ArgumentError for what cannot be one."""
        raise NotImplementedError

    def _contents(self) -> Iterable[tuple[str, Any]]:
        yield from self._items.items()
        yield from ((name, value) for name, value in vars(self).items() if name != "_items")

    def __getitem__(self, key: str) -> T:
        return self._items[key]

    def __setitem__(self, key: str, item: T) -> None:
        check_name(type(self).__name__, key)
        self._items[key] = self._checked(item)
        CHANGES.count += 1

    def __delitem__(self, key: str) -> None:
        del self._items[key]
        CHANGES.count += 1

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    # A mapping compares its items and has no hash; a module is itself alone.
    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def check_name(container: str, name: Any) -> None:
    """Raises ArgumentError for a key that cannot be a part of a path such as ``0.weight``."""
    if not isinstance(name, str) or not name or "." in name:
        raise ArgumentError(
            f"{container}: a key must be a string without dots that is not empty, got {name!r}"
        )


def checked_module(container: str, item: Any) -> Module:
    """The item if it is a Module; raises ArgumentError."""
    if isinstance(item, Module):
        return item
    if isinstance(item, type) and issubclass(item, Module):
        raise ArgumentError(
            f"{container}: {item.__name__} is a class, not a module",
            hint=f"make one: {item.__name__}(...)",
        )
    raise ArgumentError(f"{container}: items must be modules, got {type(item).__name__}")
