"""What there is to know of Python objects and code: what they name and have, and whose they are."""

from __future__ import annotations

import dis
import os
import sys
from functools import lru_cache, partial
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, TypeGuard, cast

from lumus.compile.places import Cell, own_attributes
from lumus.core.site import INTERNAL_PREFIXES
from lumus.core.watch import Holder

_STANDARD_LIBRARY = str(Path(os.__file__).parent)
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def has(value: Any, name: str) -> bool:
    """Whether an object has an attribute, without asking a `__getattr__` of a user."""
    return name in (own_attributes(value) or ()) or any(
        name in vars(c) for c in type(value).__mro__
    )


def codes_of(code: CodeType) -> list[CodeType]:
    """The code of a function, and of those written in it."""
    codes = [code]
    for one in codes:
        codes.extend(const for const in one.co_consts if isinstance(const, CodeType))
    return codes


@lru_cache(maxsize=4096)
def named_in(code: CodeType, *instructions: str) -> list[str]:
    """What these instructions of code name; `co_names` has the names of attributes, too."""
    found = [one for one in dis.get_instructions(code) if one.opname in instructions]
    return list(dict.fromkeys([cast("str", one.argval) for one in found if one.argval]))


def attributes_of(value: Any) -> set[str]:
    """The names of an object's attributes, those of its classes included."""
    classes = list(type(value).__mro__)
    if isinstance(value, type):
        classes += type.mro(value)
    return set(own_attributes(value) or ()).union(*map(vars, classes))


def functions_in(function: FunctionType) -> list[tuple[str, Any]]:
    """The functions and methods that one of the library's encloses, such as what `grad` is of."""
    cells = [Cell(cell).read() for cell in function.__closure__ or ()]
    return [("", one) for one in cells if isinstance(one, FunctionType | MethodType | partial)]


def has_attributes(value: Any) -> bool:
    """Whether a user's object may have attributes of its own, in a dict or slots."""
    if own_attributes(value) is not None:
        return True
    is_ours = type(value).__module__.partition(".")[0] == "lumus"
    return not is_ours and any("__slots__" in vars(cls) for cls in type(value).__mro__)


def is_holder(value: Any) -> TypeGuard[Holder]:
    """Whether an object says itself what it holds, as modules and optimisers do."""
    kind = type(value)
    return callable(getattr(kind, "watched", None)) and hasattr(kind, "assignable_parts")


@lru_cache(maxsize=4096)
def is_of_user(name: str) -> bool:
    """Whether a module of that name is the user's."""
    module = sys.modules.get(name)
    return module is None or is_users(module)


def is_users(module: ModuleType) -> bool:
    """Whether a module is neither this library, nor another that is installed, nor built in."""
    file = getattr(module, "__file__", None)
    if file is None:
        return not hasattr(module, "__spec__") or module.__spec__ is None
    is_installed = any(part in file for part in _INSTALLED)
    return not is_installed and not file.startswith((*INTERNAL_PREFIXES, _STANDARD_LIBRARY))
