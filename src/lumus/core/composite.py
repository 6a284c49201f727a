"""Functions of several ops, known by name: Tensor methods call what stands above them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Composite = Callable[..., Any]
COMPOSITES: dict[str, Composite] = {}
AnyComposite = TypeVar("AnyComposite", bound=Composite)


def composite(name: str) -> Callable[[AnyComposite], AnyComposite]:
    """Makes a function of several ops known by name, so that a Tensor method can call it."""

    def add(function: AnyComposite) -> AnyComposite:
        COMPOSITES[name] = function
        return function

    return add


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    """Calls the composite of that name."""
    return COMPOSITES[name](*args, **kwargs)
