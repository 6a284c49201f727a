"""Sequential: modules one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError
from lumus.nn.module import Module


class Sequential(Module):
    """Modules (or functions of one tensor), each applied to the result of the one before.

    >>> import lumus as lm
    >>> model = lm.nn.Sequential(lm.nn.Linear(2, 8), lm.nn.Tanh(), lm.nn.Linear(8, 1))
    >>> model(lm.zeros((5, 2))).shape
    (5, 1)
    """

    layers: list[Callable[[Tensor[Float]], Tensor[Float]]]

    def __init__(self, *layers: Callable[[Tensor[Float]], Tensor[Float]]) -> None:
        for place, layer in enumerate(layers):
            if not callable(layer):
                raise ArgumentError(
                    f"Sequential: layer {place} is {layer!r}, which cannot be called"
                )
            if isinstance(layer, type) and issubclass(layer, Module):
                raise ArgumentError(
                    f"Sequential: layer {place} is the class {layer.__name__}, not a layer",
                    hint=f"make one: {layer.__name__}(...)",
                )
        self.layers = list(layers)

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        for layer in self.layers:
            x = layer(x)
        return x

    def __len__(self) -> int:
        return len(self.layers)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.layers)

    def __getitem__(self, place: int) -> Any:
        return self.layers[place]
