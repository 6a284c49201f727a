"""`frozen`: small immutable classes with slots, made fast.

What `dataclasses.dataclass(frozen=True, slots=True)` gives, for the hundred-odd records and attrs
that an import makes and the millions of records that training makes: it is built without compiling
methods for each class, and its `__init__` fills slots through their descriptors instead of
`object.__setattr__`.
"""

from __future__ import annotations

from inspect import get_annotations
from types import FunctionType, MemberDescriptorType
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")

_initializers: dict[tuple[str, ...], Any] = {}


@dataclass_transform(frozen_default=True)
def frozen(cls: type[T]) -> type[T]:
    """Makes a class of annotated fields immutable and slotted.

    Fields with a value have that default.
    """
    own = {
        name: kind
        for name, kind in get_annotations(cls).items()
        if not str(kind).startswith("ClassVar")
    }
    names = (*getattr(cls, "field_names", ()), *own)
    space = {
        name: value
        for name, value in cls.__dict__.items()
        if name not in ("__dict__", "__weakref__") and name not in own
    }
    defaults = tuple(cls.__dict__[name] for name in own if name in cls.__dict__)
    space.update(
        __slots__=tuple(own),
        field_names=names,
        __match_args__=names,
        __setattr__=_refuse,
        __delattr__=_refuse,
        __reduce__=_reduce,
    )
    space.setdefault("__eq__", _equal)
    space.setdefault("__hash__", _hash)
    space.setdefault("__repr__", _text)
    metaclass: Any = type(cls)
    made = metaclass(cls.__name__, cls.__bases__, space)
    made.__init__ = _initializer(made, names, defaults)
    return made


def _initializer(cls: Any, names: tuple[str, ...], defaults: tuple[Any, ...]) -> Any:
    code = _initializers.get(names)
    if code is None:
        body = "".join(f"    set_{name}(self, {name})\n" for name in names) or "    pass\n"
        scope: dict[str, Any] = {}
        exec(f"def __init__(self, {', '.join(names)}):\n{body}", scope)
        code = _initializers[names] = scope["__init__"].__code__
    setters: dict[str, Any] = {"__builtins__": __builtins__}
    for name in names:
        slot: MemberDescriptorType = getattr(cls, name)
        setters[f"set_{name}"] = slot.__set__
    return FunctionType(code, setters, "__init__", defaults or None)


def _values(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, name) for name in self.field_names)


def _refuse(self: Any, name: str, value: Any = None) -> None:
    raise AttributeError(f"{type(self).__name__} is immutable: cannot set {name!r}")


def _equal(self: Any, other: object) -> bool:
    return type(self) is type(other) and _values(self) == _values(other)


def _hash(self: Any) -> int:
    return hash(_values(self))


def _text(self: Any) -> str:
    parts = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.field_names)
    return f"{type(self).__name__}({parts})"


def _reduce(self: Any) -> tuple[Any, ...]:
    return (type(self), _values(self))
