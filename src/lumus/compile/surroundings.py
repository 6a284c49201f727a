"""What a traced function reads besides its arguments, and whether it is still the same.

Global and enclosed names, and the modules that they (and the arguments) lead to. Their tensors give
captured arrays their names; their settings are built into the program, which is traced again when
one of them has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, cast

from lumus.core.site import INTERNAL_PREFIXES
from lumus.core.tensor import Tensor
from lumus.core.watch import CHANGES, Holder

_NUMBERS = (bool, int, float, str, type(None))
_GONE = object()
_LONGEST = 40  # characters of a value that is told


class Surroundings:
    """The names that a function reads, with what they meant when it was traced."""

    def __init__(self, function: Callable[..., Any], arguments: Iterator[Any]) -> None:
        self._names: list[tuple[str, Callable[[], Any], Any]] = []
        self._holders: list[tuple[str, Holder]] = []
        self._holds: list[tuple[str, Any]] = []
        self._code_names: set[str] = set()
        self._attributes: set[tuple[int, str]] = set()
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

    def settle(self) -> None:
        """Remembers what names and holders mean now, when the trace is done."""
        self._names = [(name, read, read()) for name, read, _ in self._names]
        self._holds = list(self._contents())
        self._changes = CHANGES.count

    def difference(self) -> str | None:
        """What has changed since, in words; None if nothing has."""
        for name, read, value in self._names:
            now = read()
            if now is not value and not _same(now, value):
                return f"{name}: {_told(value)} -> {_told(now)}"
        if CHANGES.count == self._changes:
            return None
        held = list(self._contents())
        if len(held) != len(self._holds):
            return f"{len(self._holds)} attributes of modules -> {len(held)}"
        for (name, value), (new_name, now) in zip(self._holds, held, strict=True):
            if name != new_name:
                return f"attribute {name} -> {new_name}"
            if now is not value and not _same(now, value):
                return f"{name}: {_told(value)} -> {_told(now)}"
        self._changes = CHANGES.count
        return None

    def _contents(self) -> Iterator[tuple[str, Any]]:
        for label, holder in self._holders:
            for name, value in holder.watched():
                yield (f"{label}.{name}" if label else name), value

    def _look(self, function: Callable[..., Any], arguments: Iterator[Any]) -> None:
        """Follows names, closures, methods, containers and the attributes that the code names."""
        seen: set[int] = set()
        pending: list[tuple[str, Any]] = [("", function)]
        pending.extend(("", one) for one in arguments)
        objects: list[tuple[str, Any]] = []
        while pending:
            name, value = pending.pop()
            if id(value) in seen or isinstance(value, (type, ModuleType, Tensor, *_NUMBERS)):
                pass
            elif isinstance(value, Holder):
                self._holders.append((name, value))
            elif isinstance(value, MethodType):
                pending += [(name or "self", value.__self__), ("", value.__func__)]
            elif isinstance(value, FunctionType):
                if not value.__code__.co_filename.startswith(INTERNAL_PREFIXES):
                    pending.extend(self._of_function(value))
            elif isinstance(value, list | tuple):
                pending.extend((f"{name}[{at}]", one) for at, one in enumerate(value))
            elif isinstance(value, dict):
                pending.extend((f"{name}[{key!r}]", one) for key, one in value.items())
            elif hasattr(value, "__wrapped__"):
                pending.append((name, cast("Any", value).__wrapped__))
            elif hasattr(value, "__dict__"):
                objects.append((name, value))
            seen.add(id(value))
            if not pending:  # functions that are known have told which attributes they name
                pending.extend(self._of_objects(objects))

    def _of_objects(self, objects: list[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
        """The attributes of plain objects that the code may read, and their methods, each once."""
        for name, value in objects:
            for attribute in vars(value):
                place = (id(value), attribute)
                if attribute in self._code_names and place not in self._attributes:
                    self._attributes.add(place)
                    reader = _attribute_reader(value, attribute)
                    yield from self._name(f"{name}.{attribute}", reader)
            for cls in type(value).__mro__:
                for attribute, found in vars(cls).items():
                    place = (id(cls), attribute)
                    is_new = attribute in self._code_names and place not in self._attributes
                    if is_new and isinstance(found, FunctionType):
                        self._attributes.add(place)
                        yield "", found

    def _of_function(self, function: FunctionType) -> Iterator[tuple[str, Any]]:
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            yield from self._name(name, _cell_reader(cell))
        scope, names = function.__globals__, _names_of(function.__code__)
        self._code_names.update(names)
        for name in names:
            if name in scope:
                yield from self._name(name, _global_reader(scope, name))

    def _name(self, name: str, read: Callable[[], Any]) -> Iterator[tuple[str, Any]]:
        value = read()
        if isinstance(value, (Tensor, Holder, *_NUMBERS)) and not isinstance(value, type):
            self._names.append((name, read, value))
        yield name, value


def _cell_reader(cell: CellType) -> Callable[[], Any]:
    def read() -> Any:
        try:
            return cell.cell_contents
        except ValueError:
            return _GONE

    return read


def _global_reader(scope: dict[str, Any], name: str) -> Callable[[], Any]:
    return lambda: scope.get(name, _GONE)


def _attribute_reader(value: Any, name: str) -> Callable[[], Any]:
    return lambda: vars(value).get(name, _GONE)


def _names_of(code: CodeType) -> list[str]:
    """Names that a function, and functions written in it, may look up globally."""
    names: list[str] = []
    pending = [code]
    for one in pending:
        names.extend(one.co_names)
        pending.extend(const for const in one.co_consts if isinstance(const, CodeType))
    return list(dict.fromkeys(names))


def _same(now: Any, value: Any) -> bool:
    return (
        now.__class__ is value.__class__
        and isinstance(value, _NUMBERS)
        and repr(now) == repr(value)
    )


def _told(value: Any) -> str:
    if isinstance(value, _NUMBERS):
        text = repr(value)
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    if value is _GONE:
        return "nothing"
    return f"another {type(value).__name__}"
