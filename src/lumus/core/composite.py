"""Functions of several ops, known by name: Tensor methods call what stands above them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Composite = Callable[..., Any]
COMPOSITES: dict[str, Composite] = {}


def composite(name: str) -> Callable[[Composite], Composite]:
    """Makes a function of several ops known by name, so that a Tensor method can call it."""

    def add(function: Composite) -> Composite:
        COMPOSITES[name] = function
        return function

    return add


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    """Calls the composite of that name."""
    return COMPOSITES[name](*args, **kwargs)
