"""What a traced function assigns in Python: its program would not assign it again.

Names, attributes, and items of lists, dicts, sets and deques are remembered before the trace, and
compared and put back after it.
"""

from __future__ import annotations

import dis
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import is_
from types import CodeType
from typing import Any

import numpy as np

from lumus.compile.places import GONE, Attribute, Place, same, told_change
from lumus.core.frozen import frozen
from lumus.core.tensor import Tensor
from lumus.errors import TraceError
from lumus.trace.value import Value

_LARGEST = 1 << 20  # bytes of an array that is looked at
_PLAIN = ("builtins", "collections")
_STORES = frozenset({"STORE_ATTR", "STORE_GLOBAL", "STORE_NAME", "STORE_DEREF"})


@frozen
class Assignment:
    """One place that has another value than before the trace."""

    what: str  # its name
    change: str  # in words
    is_traced: bool  # whether it holds a value of the trace now
    was_tensor: bool
    undo: Callable[[], None]
    redo: Callable[[], None]
    place: Place | None = None  # None of a container
    is_input: bool = False  # of each call, so that it must stand before

    @property
    def can_be_done(self) -> bool:
        """Whether each call may do the same."""
        return not self.is_traced and not self.is_input


class Before:
    """What stood, before a function was traced, where it may assign."""

    def __init__(self, places: Iterable[tuple[str, Place, Any]]) -> None:
        self._places = list(places)
        self._containers: list[tuple[str, Any, Any, bool]] = []
        self._arrays: list[tuple[str, Any, Any]] = []
        self._objects: list[tuple[str, Any, dict[str, Any], frozenset[str] | None]] = []

    def add_container(self, name: str, container: Any, *, is_input: bool = False) -> None:
        """Remembers the items of a list, dict, set or deque, which may be inputs of each call."""
        self._containers.append((name, container, _copied(container), is_input))

    def add_object(self, name: str, owner: Any, named: frozenset[str] | None) -> None:
        """Remembers the attributes of an object: those `named`, and all that come to be traced."""
        self._objects.append((name, owner, dict(vars(owner)), named))

    def add_array(self, name: str, array: Any) -> None:
        """Remembers the elements of a NumPy array, if it is small."""
        if array.nbytes <= _LARGEST and array.flags.writeable and not array.dtype.hasobject:
            self._arrays.append((name, array, array.copy()))

    def assignments(self) -> Iterator[Assignment]:
        """What has changed."""
        for name, place, value in self._places:
            if not _equal(place.read(), value):
                yield _at_place(name, place, value, place.read(), value)
        for name, container, copy, is_input in self._containers:
            if not _equal_items(container, copy):
                yield _in_container(name, container, copy, is_input)
        for name, array, copy in self._arrays:
            if array.tobytes() != copy.tobytes():
                undo, redo = (
                    partial(np.copyto, array, copy),
                    partial(np.copyto, array, array.copy()),
                )
                yield Assignment(name, "other elements", False, False, undo, redo)
        for name, owner, attributes, named in self._objects:
            yield from _of_object(name, owner, attributes, named)

    def put_back(self) -> list[Assignment]:
        """Undoes what has been assigned, and gives it."""
        assigned = list(self.assignments())
        for one in assigned:
            one.undo()
        return assigned


def refused(function: str, assignment: Assignment, codes: Iterable[CodeType]) -> TraceError:
    """The error for what cannot be left as the trace has assigned it."""
    name = assignment.what
    site = _line_of(name.rpartition(".")[2], codes)
    where = f" at {site}" if site else ""
    if assignment.is_traced:
        into = f", or write it in place: {name}.copy_(value)" if assignment.was_tensor else ""
        return TraceError(
            f"compile: {function} keeps a tensor that it computes, as {name}{where}; later calls "
            "run its plan, which would not put it there again",
            hint=f"return the tensor{into}",
        )
    if assignment.is_input:
        return TraceError(
            f"compile: {function} changes {name}{where} ({assignment.change}), which is an input "
            "of its plan",
            hint="set it before the call: nothing is traced again for a rate",
        )
    return TraceError(
        f"compile: {function} changes {name}{where} ({assignment.change}) each time it runs; "
        "later calls run its plan, which changes tensors only",
        hint="change it outside and pass what the function needs as an argument, or count in a "
        "tensor, in place: count.add_(1)",
    )


def _at_place(name: str, place: Place, value: Any, now: Any, stood: Any) -> Assignment:
    """`place` meant `value` and means `now`; what `stood` there itself is put back."""
    return Assignment(
        name,
        told_change(value, now),
        _is_traced(now),
        isinstance(value, Tensor),
        partial(place.write, stood),
        partial(place.write, place.read()),
        place,
    )


def _of_object(
    name: str, owner: Any, attributes: dict[str, Any], named: frozenset[str] | None
) -> Iterator[Assignment]:
    present = vars(owner)
    for key in [*attributes, *[key for key in present if key not in attributes]]:
        # An attribute that is deleted or was not there means that of the class.
        of_class = getattr(type(owner), key, GONE)
        now, value = present.get(key, of_class), attributes.get(key, of_class)
        if not _equal(now, value) and (named is None or key in named or _is_traced(now)):
            place, what = Attribute(owner, key), f"{name}.{key}" if name else key
            yield _at_place(what, place, value, now, attributes.get(key, GONE))


def _in_container(name: str, container: Any, copy: Any, is_input: bool) -> Assignment:
    change, was_tensor = "other items", False
    if len(copy) != len(container):
        change = f"{len(copy)} -> {len(container)} items"
    known = set(map(id, _listed(copy)))
    is_traced = any(_is_traced(one) for one in _listed(container) if id(one) not in known)
    if isinstance(container, dict):
        keys = [key for key, one in container.items() if not _equal(copy.get(key, GONE), one)]
        if keys:
            name, value = f"{name}[{keys[0]!r}]", copy.get(keys[0], GONE)
            change = told_change(value, container[keys[0]])
            was_tensor = isinstance(value, Tensor)
    undo = partial(_refill, container, copy)
    redo = partial(_refill, container, _copied(container))
    return Assignment(name, change, is_traced, was_tensor, undo, redo, None, is_input)


def _listed(container: Any) -> list[Any]:
    return [*container, *container.values()] if isinstance(container, dict) else list(container)


def _copied(container: Any) -> Any:
    return dict(container) if isinstance(container, dict) else list(container)


def _refill(container: Any, copy: Any) -> None:
    """Puts items in the place of all that are there, whatever a subclass does about it."""
    kind: Any = next(cls for cls in type(container).__mro__ if cls.__module__ in _PLAIN)
    kind.clear(container)
    add = kind.update if isinstance(container, dict | set) else kind.extend
    add(container, copy)


def _equal(now: Any, value: Any) -> bool:
    """Whether one stands for the other: the same, or made anew of the same plain values."""
    if now is value or same(now, value):
        return True
    if now.__class__ is not value.__class__ or now.__class__ not in (list, dict, set, frozenset):
        return False
    return _equal_items(now, value)


def _equal_items(now: Any, value: Any) -> bool:
    one, other = _listed(now), _listed(value)
    return len(one) == len(other) and (all(map(is_, one, other)) or all(map(_equal, one, other)))


def _is_traced(value: Any) -> bool:
    """Whether a value is a tensor of the trace, or a container that holds one."""
    pending = [value]
    entered: set[int] = set()
    while pending:
        one = pending.pop()
        if isinstance(one, Tensor):
            if one.data.__class__ is Value:
                return True
        elif isinstance(one, list | tuple | dict | set | deque) and id(one) not in entered:
            entered.add(id(one))
            pending.extend(_listed(one))
    return False


def _line_of(name: str, codes: Iterable[CodeType]) -> str:
    """Where code assigns to a name or an attribute of that name; nothing if it does not say."""
    for code in codes:
        for one in dis.get_instructions(code):
            if one.opname in _STORES and one.argval == name and one.positions is not None:
                return f"{code.co_filename}:{one.positions.lineno}"
    return ""
