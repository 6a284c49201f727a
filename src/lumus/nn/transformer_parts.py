"""What the layers of a transformer have in common."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TypeVar

from lumus.core.broadcast import integer
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError
from lumus.nn.module import Module
from lumus.ops.elementwise.gelu import gelu
from lumus.ops.elementwise.relu import relu
from lumus.ops.random.generator import Generator

Activation = Callable[[Tensor[Float]], Tensor[Float]]
M = TypeVar("M", bound=Module)

_NAMED: dict[str, Activation] = {"relu": relu, "gelu": gelu}


def activation_of(op: str, activation: str | Activation) -> Activation:
    """The function of that name, or the function (or module) itself."""
    if isinstance(activation, str) and activation in _NAMED:
        return _NAMED[activation]
    if not callable(activation):
        raise ArgumentError(
            f"{op}: activation must be 'relu', 'gelu' or a function, got {activation!r}"
        )
    return activation


def copies_of(op: str, layer: M, count: int, kind: type[M]) -> list[M]:
    """`count` copies of a layer, each with parameters of its own and all on its random streams."""
    if not isinstance(layer, kind):
        raise ArgumentError(f"{op}: expected a {kind.__name__}, got {type(layer).__name__}")
    number = integer(op, "num_layers", count)
    if number < 0:
        raise ArgumentError(f"{op}: num_layers cannot be negative, got {number}")
    streams = [
        value
        for _, module in layer.named_modules()
        for value in vars(module).values()
        if isinstance(value, Generator)
    ]
    # A stream of each copy's own would draw the same numbers as the others'.
    return [copy.deepcopy(layer, {id(one): one for one in streams}) for _ in range(number)]
