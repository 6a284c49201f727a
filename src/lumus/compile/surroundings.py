"""What a traced function reads besides its arguments, and whether it is still the same.

Global and enclosed names, and what they (and the arguments) lead to: modules, functions, lists and
dicts, attributes of objects and classes that the code names. Their tensors give captured arrays
their names; their settings are built into the program, which is traced again when one of them has
changed.
"""

from __future__ import annotations

import sys
import weakref
from collections import ChainMap, UserDict, UserList, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial, partialmethod
from itertools import islice
from operator import is_
from types import (
    CodeType,
    FunctionType,
    MethodType,
    ModuleType,
)
from typing import Any, cast

import numpy as np

from lumus.autograd.custom_call import CustomOp
from lumus.compile.assigned import Assignment, Before
from lumus.compile.foreign import is_random, shared_generators
from lumus.compile.objects import (
    attributes_of,
    codes_of,
    functions_in,
    has,
    has_attributes,
    is_holder,
    is_of_user,
    is_users,
    named_in,
)
from lumus.compile.places import (
    GONE,
    LARGE,
    NUMBERS,
    Ancestry,
    Attribute,
    Cell,
    Code,
    Defaults,
    Global,
    Place,
    is_slot,
    items_of,
    own_attributes,
    same,
    told_change,
)
from lumus.core.site import INTERNAL_PREFIXES
from lumus.core.tensor import Tensor
from lumus.core.tree import CONTAINERS
from lumus.core.watch import CHANGES, Holder, Snapshot

# Methods that code calls without naming them.
_OPERATORS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul", "and", "or",
    "xor", "lshift", "rshift",
)  # fmt: skip
_CALLED_BY_SYNTAX = frozenset(f"__{name}__" for name in (
    "new", "call", "get", "set", "delete", "getattr", "getattribute", "setattr", "delattr",
    "getitem", "setitem", "delitem", "missing", "iter", "next", "reversed", "len", "contains",
    "bool", "float", "int", "index", "complex", "round", "abs", "neg", "pos", "invert", "hash",
    "str", "repr", "format", "enter", "exit", "eq", "ne", "lt", "le", "gt", "ge",
    *_OPERATORS, *[f"r{name}" for name in _OPERATORS], *[f"i{name}" for name in _OPERATORS],
))  # fmt: skip
_ITERATORS = ("builtins", "itertools")


class Surroundings:
    """The names that a function reads, with what they meant when it was traced."""

    def __init__(self, function: Callable[..., Any], arguments: list[tuple[str, Any]]) -> None:
        self._names: list[tuple[str, Place, Any]] = []
        self._holders: list[tuple[str, Holder]] = []
        self._holds: list[tuple[str, Any]] = []
        self._containers: list[tuple[str, Any, list[Any]]] = []
        self._arrays: list[tuple[str, Any]] = []
        self._generators: list[tuple[str, Any]] = []  # of random numbers that are not lumus's
        self._iterators: list[str] = []
        self._caches: list[Any] = []
        self._objects: dict[int, tuple[str, Any]] = {}  # whose attributes the code may read
        self._asked: set[tuple[int, str]] = set()
        self._codes: list[CodeType] = []
        self._descended: set[int] = set()  # whose classes are watched
        self._code_names: set[str] = set()
        self._attributes: set[tuple[int, str]] = set()
        self._present: list[tuple[str, Any, set[str]]] = []  # objects, and their attributes
        self._changes = CHANGES.count
        self._look(function, arguments)

    def labels(self) -> dict[int, str]:
        """The names of arrays, by their identity."""
        found: dict[int, str] = {}
        for name, _, value in self._names:
            if isinstance(value, Tensor):
                found.setdefault(id(value.data), name)
        for name, value in self._contents():
            if isinstance(value, Tensor):
                found.setdefault(id(value.data), name)
        return found

    def asked(self) -> list[Tensor[Any]]:
        """Tensors that the code may ask whether they require grad."""
        if "requires_grad" not in self._code_names:
            return []
        values = [*[value for _, _, value in self._names], *[one for _, one in self._contents()]]
        return [one for one in values if isinstance(one, Tensor)]

    def codes(self) -> list[CodeType]:
        """The code that the function leads to."""
        return self._codes

    def iterator(self) -> str | None:
        """The name of an iterator of Python's that the code uses, if there is one."""
        return next(iter(self._iterators), None)

    def before(self) -> Before:
        """What stands now where the function may assign."""
        before = Before(self._names)
        for name, container, _ in self._containers:
            before.add_container(name, container)
        for name, holder in self._holders:
            for path, part, is_input in type(holder).assignable_parts(holder):
                if isinstance(part, list | dict):
                    before.add_container(_joined(name, path), part, is_input=is_input)
                else:
                    before.add_object(_joined(name, path), part, None)
        for name, array in self._arrays:
            is_bytes = isinstance(array, bytearray)
            before.add_array(name, np.frombuffer(array, np.uint8) if is_bytes else array)
        # Other threads may draw of the shared ones, so they count where the code names them only.
        shared = shared_generators() if "random" in self._code_names else []
        for name, generator in [*shared, *self._generators]:
            before.add_generator(name, generator)
        for cache in self._caches:
            before.add_cache(cache)
        named = frozenset(self._code_names)
        for name, value in self._objects.values():
            if own_attributes(value) is not None:
                before.add_object(name, value, named)
        return before

    def settle(self, assigned: Iterable[Assignment]) -> None:
        """Remembers what names and holders mean now, when the trace is done and put back.

        Attributes that it has assigned may have been made by it: that they were not there counts.
        """
        for one in assigned:
            if one.place is not None:
                self._names.append((one.what, one.place, None))
        self._names = [(name, place, place.read()) for name, place, _ in self._names]
        self._containers = [(name, one, items_of(one)) for name, one, _ in self._containers]
        owners = {id(owner): (name, owner) for name, owner in self._objects.values()}
        for name, owner in self._objects.values():
            for cls in type(owner).__mro__:
                if is_of_user(cls.__module__):
                    owners.setdefault(id(cls), (name, cls))
        self._present = [(name, owner, self._named_of(owner)) for name, owner in owners.values()]
        self._changes = CHANGES.count
        self._holds = list(self._contents())

    def watch(self, snapshot: Snapshot) -> None:
        """Adds all that `difference` looks at to a snapshot."""
        for _, place, _ in self._names:
            place.watch(snapshot)
        for _, container, _ in self._containers:
            snapshot.add_items(container, LARGE)
        for _, owner, _ in self._present:
            snapshot.add_size(owner)
        snapshot.add_attribute(CHANGES, "count")

    def difference(self) -> str | None:
        """What has changed since, in words; None if nothing has."""
        for name, place, value in self._names:
            now = place.read()
            if now is not value and not same(now, value):
                return f"{name}: {told_change(value, now)}"
        for name, container, items in self._containers:
            now = items_of(container)
            if len(now) != len(items):
                return f"{name}: {len(items)} -> {len(now)} items"
            if not all(map(is_, now, items)) and not all(map(same, now, items)):
                return f"{name}: other items"
        for name, owner, present in self._present:
            appeared = sorted(self._named_of(owner) - present)
            if appeared:
                return f"{_joined(name, appeared[0])}: new"
        changes = CHANGES.count
        if changes == self._changes:
            return None
        held = list(self._contents())
        if len(held) != len(self._holds):
            return f"{len(self._holds)} attributes of modules -> {len(held)}"
        for (name, value), (new_name, now) in zip(self._holds, held, strict=True):
            if name != new_name:
                return f"attribute {name} -> {new_name}"
            if now is not value and not same(now, value):
                return f"{name}: {told_change(value, now)}"
        self._changes = changes
        return None

    def _named_of(self, owner: Any) -> set[str]:
        """Which attributes that the code names an object or class has of its own."""
        return self._code_names & set(own_attributes(owner) or ())

    def _contents(self) -> Iterator[tuple[str, Any]]:
        for label, holder in self._holders:
            for name, value in type(holder).watched(holder):
                yield _joined(label, name), value

    def _look(self, function: Callable[..., Any], arguments: list[tuple[str, Any]]) -> None:
        """Follows names, closures, methods, containers and the attributes that the code names."""
        seen: set[int] = set()
        pending: list[tuple[str, Any]] = [("", function), *arguments]
        while pending:
            name, value = pending.pop()
            if id(value) not in seen:
                seen.add(id(value))
                pending.extend(self._led_to(name, value))
            if not pending:  # functions that are known have told which attributes they name
                pending.extend(self._of_objects())

    def _led_to(self, name: str, value: Any) -> Iterable[tuple[str, Any]]:
        """What a value leads to; what is to be watched of it is noted."""
        kind = type(value)  # a proxy says that it is of another class
        if kind in NUMBERS or isinstance(value, Tensor | CustomOp):
            return ()  # the Python of a custom op runs at each call
        if issubclass(kind, np.ndarray | bytearray):
            self._arrays.append((name, value))
            return ()
        if kind in CONTAINERS:  # a gradient store: what it holds lies in slots
            for slot in kind.__slots__:
                place = Attribute(value, slot)
                self._names.append((name, place, place.read()))
                if isinstance(place.read(), dict | set):
                    self._watch(name, place.read())
            return ()
        if is_random(value):
            self._generators.append((name, value))
            return ()
        if kind.__module__ in _ITERATORS and hasattr(kind, "__next__"):
            self._iterators.append(name)
            return ()
        if isinstance(value, ModuleType):
            return self._later(name, value) if is_users(value) else ()
        if is_holder(value):
            return self._of_holder(name, value)
        if isinstance(value, MethodType):
            return [(name or "self", value.__self__), ("", value.__func__)]
        if isinstance(value, FunctionType):
            if value.__code__.co_filename.startswith(INTERNAL_PREFIXES):
                return functions_in(value)
            self._later(name or value.__name__, value)
            return self._of_function(value)
        if issubclass(kind, list | tuple | set | deque | dict):
            return self._of_container(name, value)
        if issubclass(kind, partial | partialmethod):
            return [(name, value.func), (name, value.args), (name, value.keywords)]
        if issubclass(kind, staticmethod | classmethod):
            return [(name, value.__func__)]
        if isinstance(value, weakref.ref):
            return [(name, value())]
        if isinstance(value, UserDict | UserList):
            return [(name, value.data), *self._later(name, value)]
        if isinstance(value, ChainMap):
            return [(name, value.maps), *self._later(name, value)]
        if isinstance(value, property):
            return [("", value.fget), ("", value.fset), ("", value.fdel)]
        if isinstance(value, type):  # which the code may make objects of
            self._later(name, value)
            return [("", cast("Any", value).__init__)]
        if has(value, "cache_info") and has(value, "cache_clear"):
            self._caches.append(value)
        if has(value, "__wrapped__"):
            return [(name, value.__wrapped__)]
        return self._later(name, value) if has_attributes(value) else ()

    def _later(self, name: str, value: Any) -> tuple[()]:
        """Leaves the attributes of an object until it is known which of them the code names."""
        self._objects.setdefault(id(value), (name, value))
        return ()

    def _of_container(self, name: str, value: Any) -> list[tuple[str, Any]]:
        """The items of a container, and the attributes of one that is of a class of its own."""
        self._watch(name, value)
        if type(value) not in (list, tuple, set, deque, dict):
            self._later(name, value)
        items = [*value.values()] if isinstance(value, dict) else [*islice(value, LARGE)]
        names = list(map(repr, value)) if isinstance(value, dict) else range(len(items))
        found = [
            (f"{name}[{at}]", one)
            for at, one in islice(zip(names, items, strict=True), LARGE)
            if type(one) not in NUMBERS
        ]
        factory = value.default_factory if isinstance(value, defaultdict) else None
        return found if factory is None else [*found, ("", factory)]

    def _of_holder(self, name: str, holder: Holder) -> Iterator[tuple[str, Any]]:
        self._holders.append((name, holder))
        if not hasattr(type(holder), "forward"):  # of a module all attributes are watched
            self._later(name, holder)
        for label, one in [("", holder), *type(holder).watched(holder)]:
            if is_holder(one):  # its code is that of its class
                self._later(name, type(one))
                yield from self._attribute(name, type(one), "forward", is_called=True)
            else:
                yield _joined(name, label), one

    def _of_objects(self) -> Iterator[tuple[str, Any]]:
        """The attributes of plain objects that the code may read, and their methods, each once."""
        names = self._code_names | _CALLED_BY_SYNTAX
        for place, (name, value) in self._objects.items():
            named = names & attributes_of(value)
            cls = value if isinstance(value, type) else type(value)
            if named and place not in self._descended and is_of_user(cls.__module__):
                self._descended.add(place)
                ancestry = Ancestry(value)
                self._names.append((f"{name}: classes", ancestry, ancestry.read()))
            space, asked = own_attributes(value), (place, "__dict__")
            is_named = "__dict__" in names or "vars" in names
            if is_named and isinstance(space, dict) and asked not in self._asked:
                self._asked.add(asked)
                yield name, space
            for attribute in sorted(named):
                if (place, attribute) not in self._asked:
                    self._asked.add((place, attribute))
                    yield from self._attribute(name, value, attribute)

    def _attribute(
        self, name: str, value: Any, attribute: str, *, is_called: bool = False
    ) -> Iterator[tuple[str, Any]]:
        """All places where an object's attribute may come from, up to the one that has it.

        Classes of installed packages stay what they are, unless the attribute `is_called`.
        """
        spaces = list(type(value).__mro__)
        if isinstance(value, type):
            spaces[:0] = value.__mro__
        has_own = own_attributes(value) is not None or is_slot(value, attribute)
        if has_own and not isinstance(value, type) and attribute not in _CALLED_BY_SYNTAX:
            spaces.insert(0, value)
        places = [Attribute(space, attribute) for space in spaces]
        is_there = [place.read() is not GONE for place in places]
        if True not in is_there:
            return
        # Behind the one that is found, `super` may lead to others.
        behind = is_there.index(True) + 1
        others = [one for one, it_is in zip(places, is_there, strict=True) if it_is]
        for place in [*places[:behind], *others[1:]]:
            key = (id(place.owner), attribute)
            of_class = isinstance(place.owner, type)
            is_fixed = of_class and not is_called and not is_of_user(place.owner.__module__)
            if key not in self._attributes and not is_fixed:
                self._attributes.add(key)
                owner = place.owner.__name__ if of_class else name
                yield from self._name(f"{owner}.{attribute}", place)

    def _of_function(self, function: FunctionType) -> Iterator[tuple[str, Any]]:
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            yield from self._name(name, Cell(cell))
        scope = function.__globals__
        codes = codes_of(function.__code__)
        self._codes.extend(codes)
        for code in codes:
            self._code_names.update(code.co_names)
            for name in named_in(code, "IMPORT_NAME"):
                yield name, sys.modules.get(name)
            stored = named_in(code, "STORE_GLOBAL", "DELETE_GLOBAL")
            for name in [*named_in(code, "LOAD_GLOBAL", "LOAD_NAME"), *stored]:
                if (id(scope), name) not in self._attributes:
                    self._attributes.add((id(scope), name))
                    yield from self._name(name, Global(scope, name))
        yield from self._name(f"{function.__name__}: code", Code(function))
        label, code = f"{function.__name__}: defaults", function.__code__
        if code.co_argcount:
            yield from self._name(label, Defaults(function, by_keyword=False))
        if code.co_kwonlyargcount:
            yield from self._name(label, Defaults(function, by_keyword=True))

    def _name(self, name: str, place: Place) -> Iterator[tuple[str, Any]]:
        value = place.read()
        if not isinstance(value, ModuleType):
            self._names.append((name, place, value))
        yield name, value

    def _watch(self, name: str, container: Any) -> tuple[()]:
        """Remembers a container; a tuple cannot change."""
        if not isinstance(container, tuple):
            self._containers.append((name, container, items_of(container)))
        return ()


def _joined(name: str, attribute: str) -> str:
    return ".".join(filter(None, (name, attribute)))
