"""Sequential: modules one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Self, overload

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.core.watch import CHANGES
from lumus.errors import ArgumentError
from lumus.nn.containers import check_name
from lumus.nn.module import Module

Layer = Callable[[Tensor[Float]], Tensor[Float]]


class Sequential(Module):
    """Modules (or functions of one tensor), each applied to the result of the one before.

    Their names are ``0``, ``1``, ..., or the keys of a dict of them.

    **Raises.** ArgumentError for a layer that cannot be called, or a key that cannot be a name.

    >>> import lumus as lm
    >>> model = lm.nn.Sequential(lm.nn.Linear(2, 8), lm.nn.Tanh(), lm.nn.Linear(8, 1))
    >>> model(lm.zeros((5, 2))).shape, list(model.state_dict())
    ((5, 1), ['0.weight', '0.bias', '2.weight', '2.bias'])
    """

    _layers: dict[str, Layer]

    @overload
    def __init__(self, layers: Mapping[str, Layer], /) -> None: ...
    @overload
    def __init__(self, *layers: Layer) -> None: ...
    def __init__(self, *layers: Layer | Mapping[str, Layer]) -> None:
        named: Mapping[str, Any] = {str(place): layer for place, layer in enumerate(layers)}
        if len(layers) == 1 and isinstance(layers[0], Mapping):
            named = layers[0]
        for name, layer in named.items():
            check_name("Sequential", name)
            _check_layer(name, layer)
        self._layers = dict(named)

    def forward(self, x: Tensor[Float]) -> Tensor[Float]:
        for layer in self._layers.values():
            x = layer(x)
        return x

    def append(self, layer: Layer) -> Self:
        """Adds a layer behind the last; returns self."""
        name = str(len(self._layers))
        if name in self._layers:
            raise ArgumentError(f"Sequential: a layer is named {name} already")
        _check_layer(name, layer)
        self._layers[name] = layer
        return self

    def _contents(self) -> Iterable[tuple[str, Any]]:
        yield from self._layers.items()
        yield from ((name, value) for name, value in vars(self).items() if name != "_layers")

    def __len__(self) -> int:
        return len(self._layers)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._layers.values())

    def __getitem__(self, place: int | slice) -> Any:
        """The layer at a place; a slice of them is a Sequential, which names them anew."""
        found = list(self._layers.values())[place]
        return Sequential(*found) if isinstance(found, list) else found

    def __setitem__(self, place: int, layer: Layer) -> None:
        name = list(self._layers)[place]
        _check_layer(name, layer)
        self._layers[name] = layer
        CHANGES.count += 1


def _check_layer(name: str, layer: Any) -> None:
    if not callable(layer):
        raise ArgumentError(f"Sequential: layer {name} is {layer!r}, which cannot be called")
    if isinstance(layer, type) and issubclass(layer, Module):
        raise ArgumentError(
            f"Sequential: layer {name} is the class {layer.__name__}, not a layer",
            hint=f"make one: {layer.__name__}(...)",
        )
