"""The layers in PyTorch. `make(name)` returns (call, number)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from benchmarks.layers import ATTENTION, CONVOLUTIONS, arrays

Made = tuple[Callable[[], Any], Callable[[Any], float]]


def make(name: str) -> Made:
    if name in CONVOLUTIONS:
        return _convolutions(name)
    if name in ATTENTION:
        return _attention(name)
    return _embedding() if name == "embedding" else _lstm()


def _leaf(array: Any) -> Any:
    return torch.from_numpy(array).requires_grad_()


def _gradient(result: Any, grad: Any, leaf: Any, *others: Any) -> Any:
    for one in (leaf, *others):
        one.grad = None
    result.backward(grad)
    return leaf.grad


def _convolutions(name: str) -> Made:
    made = [
        (one, torch.from_numpy(x) if one.is_first else _leaf(x), _leaf(weight))
        for one, (x, weight) in zip(CONVOLUTIONS[name], arrays(name), strict=True)
    ]

    def forward(one: Any, x: Any, weight: Any) -> Any:
        return functional.conv2d(
            x, weight, stride=one.stride, padding=one.padding, groups=one.groups
        )

    if name == "conv_forward":
        return torch.no_grad()(lambda: forward(*made[0])), lambda result: result.sum().item()
    grads = [torch.ones(forward(*each).shape) for each in made]

    def call() -> Any:
        for each, grad in zip(made, grads, strict=True):
            found = _gradient(forward(*each), grad, each[2], each[1])
        return found

    return call, lambda result: result.sum().item()


def _attention(name: str) -> Made:
    q, k, v, grad = arrays(name)
    q, k, v, grad = _leaf(q), _leaf(k), _leaf(v), torch.from_numpy(grad)
    _, is_causal = ATTENTION[name]

    def call() -> Any:
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
        return _gradient(y, grad, q, k, v)

    return call, lambda result: result.square().sum().item()


def _embedding() -> Made:
    ids, weight, grad = arrays("embedding")
    ids, weight, grad = torch.from_numpy(ids), _leaf(weight), torch.from_numpy(grad)
    return (
        lambda: _gradient(functional.embedding(ids, weight), grad, weight),
        lambda result: result.square().sum().item(),
    )


def _lstm() -> Made:
    x, grad = (torch.from_numpy(one) for one in arrays("lstm"))
    layer = torch.nn.LSTM(256, 256, 2)
    parameters = list(layer.parameters())
    with torch.no_grad():
        for parameter in parameters:
            parameter.fill_(0.01)
    return (
        lambda: _gradient(layer(x)[0], grad, *parameters),
        lambda result: result.square().sum().item(),
    )
