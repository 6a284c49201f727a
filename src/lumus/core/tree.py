"""Values made of tensors: how arguments and results are taken apart and put together again."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from lumus.core.frozen import frozen
from lumus.core.tensor import Tensor


@frozen
class TensorLeaf:
    """Stands where a tensor was."""


@frozen
class StaticLeaf:
    """A value that is no tensor. Equal when type and text are, of arrays the contents; for objects
    the identity.
    """

    key: Any
    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticLeaf) and bool(self.key == other.key)

    def __hash__(self) -> int:
        return hash(self.key)


@frozen
class Branch:
    """A container: its type, what tells its items apart (the keys of a dict), and its items.

    Equal keys of other types (1, 1.0 and True) make it another one, and so do 0.0 and -0.0.
    """

    kind: type[Any]
    keys: tuple[Any, ...] | None
    items: tuple[Any, ...]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Branch)
            and self.kind is other.kind
            and self.keys == other.keys
            and self.items == other.items
            and _sort_of(self.keys) == _sort_of(other.keys)
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.keys, self.items))


def _sort_of(key: Any) -> Any:
    """What tells a key from others that are equal to it."""
    if isinstance(key, tuple):
        return (key.__class__, *map(_sort_of, cast("tuple[Any, ...]", key)))
    return (key.__class__, math.copysign(1.0, key)) if key.__class__ is float else key.__class__


Tree = Any
"""A TensorLeaf, a StaticLeaf or a Branch. Equal trees have the same form and static values."""

CONTAINERS: dict[type[Any], tuple[Callable[[Any], list[Any]], Callable[[list[Any]], Any]]] = {}
"""More containers: how the items of one are listed, and how it is made of them."""

LEAF = TensorLeaf()
_PLAIN = (bool, int, str, bytes, type(None))
_COMPARED = (bool, int, float, str, type(None))


def take_apart(value: Any, tensors: list[Tensor[Any]]) -> Tree:
    """The form of a value; its tensors are appended to `tensors`, from left to right."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return LEAF
    kind: Any = value.__class__
    if kind is tuple or kind is list or (isinstance(value, tuple) and hasattr(kind, "_fields")):
        return Branch(kind, None, tuple([take_apart(item, tensors) for item in value]))
    if kind is dict:
        entries = cast("dict[Any, Any]", value)
        items = tuple([take_apart(item, tensors) for item in entries.values()])
        return Branch(dict, tuple(entries), items)
    if kind in CONTAINERS:
        items = tuple([take_apart(item, tensors) for item in CONTAINERS[kind][0](value)])
        return Branch(kind, None, items)
    return static(value)


def static(value: Any) -> StaticLeaf:
    """A value that is no tensor, with what it is compared by."""
    kind = value.__class__
    if kind in _PLAIN:
        return StaticLeaf((kind, value), value)
    if kind is float or kind is complex:
        return StaticLeaf((kind, repr(value)), value)  # tells -0.0 from 0.0, and finds NaN
    if kind is bytearray:
        return StaticLeaf((kind, bytes(value)), value)
    if kind is slice:
        return StaticLeaf((kind, repr(value)), value)
    if kind is range:
        return StaticLeaf((kind, value), value)
    if kind is set or kind is frozenset:
        items = cast("set[Any]", value)
        return StaticLeaf((kind, frozenset([static(item).key for item in items])), value)
    if issubclass(kind, np.ndarray | np.generic) and not value.dtype.hasobject:
        return StaticLeaf((kind, value.dtype.str, value.shape, value.tobytes()), value)
    return StaticLeaf((kind, id(value)), value)  # which keeps it alive, so the id is its own


def is_simple(tree: Tree) -> bool:
    """Whether a form is of tensors, numbers, text and objects, in lists, tuples and dicts.

    Another such value has that form if it has the same containers with the same keys, and there
    tensors, equal numbers and text, and the very same objects.
    """
    if isinstance(tree, Branch):
        keys = tree.keys or ()
        has_names = all(key.__class__ is str or key.__class__ is int for key in keys)
        is_known = tree.kind is list or tree.kind is tuple or tree.kind is dict
        return is_known and has_names and all(map(is_simple, tree.items))
    if isinstance(tree, StaticLeaf):
        kind = tree.value.__class__
        return kind in _COMPARED or tree.key == (kind, id(tree.value))
    return True


def put_together(tree: Tree, next_tensor: Callable[[], Any]) -> Any:
    """The value of that form with new tensors, asked for from left to right."""
    if tree is LEAF:
        return next_tensor()
    if isinstance(tree, StaticLeaf):
        return tree.value
    items = [put_together(item, next_tensor) for item in tree.items]
    if tree.kind is list:
        return items
    if tree.kind is dict:
        return dict(zip(tree.keys, items, strict=True))
    if tree.kind in CONTAINERS:
        return CONTAINERS[tree.kind][1](items)
    return tuple(items) if tree.kind is tuple else tree.kind(*items)
