"""The layers in lumus. `make(name)` returns (call, number)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lumus as lm
from benchmarks.layers import ATTENTION, CONVOLUTIONS, arrays
from lumus.nn import functional

Made = tuple[Callable[[], Any], Callable[[Any], float]]


def make(name: str) -> Made:
    if name in CONVOLUTIONS:
        return _convolutions(name)
    if name in ATTENTION:
        return _attention(name)
    return _embedding() if name == "embedding" else _lstm()


def _leaf(array: Any) -> Any:
    return lm.tensor(array, requires_grad=True)


def _convolutions(name: str) -> Made:
    made = [
        (one, lm.tensor(x) if one.is_first else _leaf(x), _leaf(weight))
        for one, (x, weight) in zip(CONVOLUTIONS[name], arrays(name), strict=True)
    ]

    def forward(one: Any, x: Any, weight: Any) -> Any:
        return functional.conv2d(
            x, weight, stride=one.stride, padding=one.padding, groups=one.groups
        )

    if name == "conv_forward":
        one, x, weight = made[0]

        def run() -> Any:
            with lm.no_grad():
                return forward(one, x, weight)

        return run, lambda result: float(result.sum())
    grads = [lm.ones(forward(*each).shape) for each in made]

    def call() -> Any:
        for each, grad in zip(made, grads, strict=True):
            store = forward(*each).backward(grad)
        return store[made[-1][2]]

    return call, lambda result: float(result.sum())


def _attention(name: str) -> Made:
    q, k, v, grad = arrays(name)
    q, k, v, grad = _leaf(q), _leaf(k), _leaf(v), lm.tensor(grad)
    _, is_causal = ATTENTION[name]

    def call() -> Any:
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
        return y.backward(grad)[q]

    return call, lambda result: float(result.square().sum())


def _embedding() -> Made:
    ids, weight, grad = arrays("embedding")
    ids, weight, grad = lm.tensor(ids), _leaf(weight), lm.tensor(grad)
    return (
        lambda: functional.embedding(ids, weight).backward(grad)[weight],
        lambda result: float(result.square().sum()),
    )


def _lstm() -> Made:
    x, grad = (lm.tensor(one) for one in arrays("lstm"))
    layer = lm.nn.LSTM(256, 256, 2)
    for parameter in layer.parameters():
        parameter.detach().copy_(lm.full(parameter.shape, 0.01))
    first = next(iter(layer.parameters()))

    return (
        lambda: layer(x)[0].backward(grad)[first],
        lambda result: float(result.square().sum()),
    )
