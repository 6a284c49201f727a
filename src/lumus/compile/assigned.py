"""What a traced function assigns in Python: its program would not assign it again.

Names, attributes, and items of lists, dicts, sets and deques are remembered before the trace, and
compared and put back after it.
"""

from __future__ import annotations

import dis
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from inspect import getattr_static
from operator import is_
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from lumus.compile.foreign import state_of
from lumus.compile.places import (
    GONE,
    LARGE,
    Attribute,
    Place,
    is_slot,
    own_attributes,
    same,
    told_change,
)
from lumus.core.frozen import frozen
from lumus.core.tensor import Tensor
from lumus.core.tree import CONTAINERS
from lumus.errors import TraceError
from lumus.trace.value import Value

_MOST = 1000  # objects in which a tensor is looked for
_APART = (type, ModuleType, FunctionType, CodeType, np.ndarray)  # which hold no results
_LARGEST = 1 << 20  # bytes of an array that is looked at
_CONTAINERS = (OrderedDict, dict, list, set, deque)
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
    is_new: bool = False  # a container that each call makes, or one too large to be watched
    is_random: bool = False  # the state of a generator
    value: Any = None  # what stands there now, or the container that has changed

    @property
    def can_be_done(self) -> bool:
        """Whether each call may do the same."""
        return not (self.is_traced or self.is_input or self.is_new or self.is_random)


class Before:
    """What stood, before a function was traced, where it may assign."""

    def __init__(self, places: Iterable[tuple[str, Place, Any]]) -> None:
        self._places = list(places)
        self._containers: list[tuple[str, Any, Any, bool]] = []
        self._arrays: list[tuple[str, Any, Any]] = []
        self._generators: list[tuple[str, Any, bytes, Callable[[], None]]] = []
        self._caches: list[tuple[Any, int]] = []
        self._objects: list[tuple[str, Any, dict[str, Any], frozenset[str] | None]] = []

    def add_container(self, name: str, container: Any, *, is_input: bool = False) -> None:
        """Remembers the items of a list, dict, set or deque, which may be inputs of each call."""
        self._containers.append((name, container, _copied(container), is_input))

    def add_object(self, name: str, owner: Any, named: frozenset[str] | None) -> None:
        """Remembers the attributes of an object: those `named`, and all that come to be traced."""
        attributes = own_attributes(owner) or {}
        if named is not None and isinstance(owner, type | ModuleType):
            attributes = {key: attributes[key] for key in named if key in attributes}
        self._objects.append((name, owner, dict(attributes), named))

    def add_array(self, name: str, array: Any) -> None:
        """Remembers the elements of a NumPy array, if it is small."""
        if array.nbytes <= _LARGEST and array.flags.writeable and not array.dtype.hasobject:
            self._arrays.append((name, array, array.copy()))

    def add_generator(self, name: str, generator: Any) -> None:
        """Remembers where a generator of random numbers stands."""
        self._generators.append((name, generator, *state_of(generator)))

    def add_cache(self, cached: Any) -> None:
        """Remembers how often a cached function had to compute."""
        self._caches.append((cached, cached.cache_info().misses))

    def assignments(self) -> Iterator[Assignment]:
        """What has changed."""
        for name, place, value in self._places:
            if not same(place.read(), value):
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
        for name, generator, state, restore in self._generators:
            now, again = state_of(generator)
            if now != state:
                yield Assignment(name, "", False, False, restore, again, is_random=True)
        for name, owner, attributes, named in self._objects:
            yield from _of_object(name, owner, attributes, named)

    def put_back(self) -> list[Assignment]:
        """Undoes what has been assigned, and gives it."""
        assigned = list(self.assignments())
        for one in assigned:
            one.undo()
        for cached, misses in self._caches:
            # What it holds from the trace may be tensors that have no values.
            if cached.cache_info().misses != misses:
                cached.cache_clear()
        return assigned


def refused(function: str, assignment: Assignment, codes: Iterable[CodeType]) -> TraceError:
    """The error for what cannot be left as the trace has assigned it."""
    name = assignment.what
    if assignment.is_random:
        return TraceError(
            f"compile: {function} draws random numbers of {name}, once, when it is traced; later "
            "calls would repeat them",
            hint="draw them of lumus.random, whose numbers are new at each call, or outside",
        )
    site = _line_of(name.rpartition(".")[2], codes)
    where = f" at {site}" if site else ""
    if assignment.is_traced:
        into = ", or make it before (a call without compile fills such a cache)"
        if assignment.was_tensor:
            into = f", or write it in place: {name}.copy_(value)"
        return TraceError(
            f"compile: {function} keeps a tensor that it computes, as {name}{where}; later calls "
            "run its plan, which would not put it there again",
            hint=f"return the tensor{into}",
        )
    if assignment.is_input:
        return TraceError(
            f"compile: {function} changes {name}{where} ({assignment.change}), which is an input "
            "of its plan",
            hint="change it before the call: nothing is traced again for another rate",
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
        holds_traced(now),
        isinstance(value, Tensor),
        partial(place.write, stood),
        partial(place.write, place.read()),
        place,
        is_new=isinstance(now, _CONTAINERS),
        value=now,
    )


def _of_object(
    name: str, owner: Any, attributes: dict[str, Any], named: frozenset[str] | None
) -> Iterator[Assignment]:
    present = own_attributes(owner) or {}
    is_large = isinstance(owner, type | ModuleType)
    new = [key for key in (named or () if is_large else present) if key not in attributes]
    for key in [*attributes, *new]:
        if key in present and key in attributes and present[key] is attributes[key]:
            continue
        # An attribute that is deleted or was not there means that of the class.
        of_class = GONE if is_large else getattr_static(type(owner), key, GONE)
        now, value = present.get(key, of_class), attributes.get(key, of_class)
        if not same(now, value) and (named is None or key in named or holds_traced(now)):
            place, what = Attribute(owner, key), f"{name}.{key}" if name else key
            yield _at_place(what, place, value, now, attributes.get(key, GONE))


def _in_container(name: str, container: Any, copy: Any, is_input: bool) -> Assignment:
    change, was_tensor = "other items", False
    if len(copy) != len(container):
        change = f"{len(copy)} -> {len(container)} items"
    known = set(map(id, [*copy, *copy.values()] if isinstance(copy, dict) else copy))
    is_traced = any(holds_traced(one) for one in _listed(container) if id(one) not in known)
    if isinstance(container, dict):
        now = _copied(container)
        keys = [key for key, one in now.items() if not same(copy.get(key, GONE), one)]
        if keys:
            name, value = f"{name}[{keys[0]!r}]", copy.get(keys[0], GONE)
            change = told_change(value, now[keys[0]])
            was_tensor = isinstance(value, Tensor)
    undo = partial(_refill, container, copy)
    redo = partial(_refill, container, _copied(container))
    return Assignment(
        name,
        change,
        is_traced,
        was_tensor,
        undo,
        redo,
        is_input=is_input,
        is_new=max(len(copy), len(container)) > LARGE,
        value=container,
    )


def _kind_of(container: Any) -> Any:
    """The class whose own methods are used, whatever a subclass does about it."""
    return next(kind for kind in _CONTAINERS if isinstance(container, kind))


def _listed(container: Any) -> list[Any]:
    """What is held: the items, of a dict keys and then values."""
    kind = _kind_of(container)
    if not issubclass(kind, dict):
        return list(kind.__iter__(container))
    pairs = list(kind.items(container))
    return [*[key for key, _ in pairs], *[value for _, value in pairs]]


def _copied(container: Any) -> Any:
    kind = _kind_of(container)
    is_dict = issubclass(kind, dict)
    return dict(kind.items(container)) if is_dict else list(kind.__iter__(container))


def _refill(container: Any, copy: Any) -> None:
    """Puts items in the place of all that are there."""
    kind = _kind_of(container)
    kind.clear(container)
    add = kind.extend if issubclass(kind, list | deque) else kind.update
    add(container, copy)


def _equal_items(container: Any, copy: Any) -> bool:
    now, before = _listed(container), list(copy)
    if isinstance(container, set):
        return len(now) == len(before) and set(map(id, now)) == set(map(id, before))
    if isinstance(copy, dict):
        before += copy.values()
    return len(now) == len(before) and (all(map(is_, now, before)) or all(map(same, now, before)))


def holds_traced(value: Any) -> bool:
    """Whether a value is a tensor of the trace, or an object or container that holds one."""
    pending = [value]
    entered: set[int] = set()
    while pending:
        one = pending.pop()
        if isinstance(one, Tensor):
            if one.data.__class__ is Value:
                return True
        elif id(one) not in entered:
            entered.add(id(one))
            if type(one) in CONTAINERS:
                pending.extend(CONTAINERS[type(one)][0](one))
            elif len(entered) < _MOST and not isinstance(one, _APART):
                pending.extend((own_attributes(one) or {}).values())
                pending.extend(Attribute(one, slot).read() for slot in _slots_of(one))
            if issubclass(type(one), (tuple, *_CONTAINERS)):
                pending.extend(tuple.__iter__(one) if isinstance(one, tuple) else _listed(one))
    return False


def _slots_of(value: Any) -> list[str]:
    classes = type(value).__mro__
    return [name for cls in classes for name in vars(cls) if is_slot(value, name)]


def _line_of(name: str, codes: Iterable[CodeType]) -> str:
    """Where code assigns to a name or an attribute of that name; nothing if it does not say."""
    for code in codes:
        for one in dis.get_instructions(code):
            if one.opname in _STORES and one.argval == name and one.positions is not None:
                return f"{code.co_filename}:{one.positions.lineno}"
    return ""
