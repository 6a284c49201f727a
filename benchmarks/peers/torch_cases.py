"""The cases in PyTorch. `make` returns (call, number): run once, and what came out.

Variants: `eager` has the default optimisers, as most users write it; `fused` the fused ones;
`compiled` these and torch.compile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from benchmarks.cases import LAYERS, POOLS, TRANSPOSED
from benchmarks.peers import torch_layers, torch_trainings

Made = tuple[Callable[[], Any], Callable[[Any], float]]


def start(threads: int) -> None:
    torch.set_num_threads(threads)


def make(name: str, arrays: dict[str, Any], variant: str) -> Made:
    if name.startswith(("step_", "infer_")):
        return torch_trainings.make(name.removeprefix("step_"), variant)
    if name.startswith(LAYERS):
        return torch_layers.make(name)
    tensors = {key: torch.from_numpy(value) for key, value in arrays.items()}
    if name in ("add_no_grad", "add_grad"):
        return _add(tensors, with_grad=name == "add_grad")
    wrapped: Callable[[Any], Any] = (
        torch.compile if variant == "compiled" else lambda function: function
    )
    if name == "gelu_chain":
        return _gelu_chain(wrapped, **tensors)
    if name == "chain":
        return _chain(wrapped, tensors["a"].requires_grad_())
    if name == "softmax":
        return _softmax(tensors)
    if name.startswith("unary_"):
        return _unary(name.removeprefix("unary_"), tensors)
    if name in POOLS:
        return _pool(name, tensors)
    if "_norm" in name:
        return _norm(name, tensors)
    if name.startswith("loss_"):
        return _cross_entropy(tensors)
    if name == "adam":
        return _adam(tensors, fused=None if variant == "eager" else True)
    call = torch.no_grad()(_plain(name, tensors))
    return call, lambda result: result.reshape(-1)[0].item()


LINES: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "argsort": lambda x: lambda: x.argsort(stable=True),
    "cummax": lambda x: lambda: x.cummax(0).values,
    "cumsum": lambda x: lambda: x.cumsum(0),
    "norm": lambda x: lambda: x.norm(),
    "sort": lambda x: lambda: x.sort().values,
    "topk": lambda x: lambda: x.topk(100).values,
}


def _plain(name: str, t: dict[str, Any]) -> Callable[[], Any]:
    if name.startswith("matmul"):
        a, b = t["a"], t["b"].T if name in TRANSPOSED else t["b"]
        return lambda: a @ b
    x = t["x"]
    if name == "argmax":
        return lambda: x.argmax()
    if name in LINES:
        return LINES[name](x)
    if name == "transpose":
        return lambda: x.t().contiguous()
    reduction, axis = name.split("_")
    method = "amax" if reduction == "max" else reduction
    return lambda: getattr(x, method)(int(axis))


def _add(t: dict[str, Any], *, with_grad: bool) -> Made:
    a, b = t["a"], t["b"]
    if with_grad:
        a.requires_grad_()

    def call() -> Any:
        for _ in range(1000):
            c = a + b
        return c

    return call, lambda result: result[0].item()


def _gelu_chain(wrapped: Callable[[Any], Any], x: Any, w: Any, b: Any, s: Any) -> Made:
    run = wrapped(lambda x, w, b, s: torch.nn.functional.gelu(x * w + b, approximate="tanh") * s)
    return torch.no_grad()(lambda: run(x, w, b, s)), lambda result: result[0, 0].item()


def _chain(wrapped: Callable[[Any], Any], leaf: Any) -> Made:
    def total(x: Any) -> Any:
        for _ in range(50):
            x = torch.tanh(x)
            x = x * 1.01
        return x.sum()

    run = wrapped(total)

    def call() -> Any:
        leaf.grad = None
        run(leaf).backward()
        return leaf.grad

    return call, lambda result: result[0].item()


def _softmax(t: dict[str, Any]) -> Made:
    x, grad = t["x"].requires_grad_(), t["grad"]

    def call() -> Any:
        x.grad = None
        torch.softmax(x, -1).backward(grad)
        return x.grad

    return call, lambda result: result[0, 0].item()


def _unary(name: str, t: dict[str, Any]) -> Made:
    x, grad = t["x"].requires_grad_(), t["grad"]
    function = getattr(torch.nn.functional, name, None) or getattr(torch, name)

    def call() -> Any:
        x.grad = None
        function(x).backward(grad)
        return x.grad

    return call, lambda result: result[0].item()


def _cross_entropy(t: dict[str, Any]) -> Made:
    x, targets = t["x"].requires_grad_(), t["targets"]

    def call() -> Any:
        x.grad = None
        torch.nn.functional.cross_entropy(x, targets).backward()
        return x.grad

    return call, lambda result: result[0, 0].item()


def _pool(name: str, t: dict[str, Any]) -> Made:
    x, grad = t["x"].requires_grad_(), t["grad"]
    function, kwargs, _, _ = POOLS[name]
    pool = getattr(torch.nn.functional, function)

    def call() -> Any:
        x.grad = None
        pool(x, **kwargs).backward(grad)
        return x.grad

    return call, lambda result: result.sum().item()


def _norm(name: str, t: dict[str, Any]) -> Made:
    grad = t["grad"]
    x, weight, bias = (t[key].requires_grad_() for key in ("x", "weight", "bias"))
    functional, width = torch.nn.functional, weight.shape[0]
    mean, var = torch.zeros(width), torch.ones(width)
    forward: dict[str, Callable[[], Any]] = {
        "layer": lambda: functional.layer_norm(x, (width,), weight, bias),
        "rms": lambda: functional.rms_norm(x, (width,), weight, 1e-5),
        "group": lambda: functional.group_norm(x, 8, weight, bias),
        "batch": lambda: functional.batch_norm(x, mean, var, weight, bias, training=True),
    }
    run = forward[name.split("_", maxsplit=1)[0]]

    def call() -> Any:
        x.grad = weight.grad = bias.grad = None
        run().backward(grad)
        return weight.grad

    return call, lambda grad: grad[0].item()


def _adam(t: dict[str, Any], *, fused: bool | None) -> Made:
    parameter = t["p"].requires_grad_()
    parameter.grad = t["g"]
    optimizer = torch.optim.Adam([parameter], lr=1e-3, fused=fused)

    def call() -> Any:
        optimizer.step()
        return parameter

    return call, lambda result: result.detach()[0].item()
