"""The cases in lumus. `make` returns (call, number): run once, and what came out.

Variants: `eager`, and `compiled` for the cases that are compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lumus as lm
from benchmarks.cases import LAYERS, POOLS, TRANSPOSED
from benchmarks.peers import lumus_layers, lumus_trainings

Made = tuple[Callable[[], Any], Callable[[Any], float]]


def start(threads: int) -> None:
    lm.set_num_threads(threads)


def make(name: str, arrays: dict[str, Any], variant: str) -> Made:
    if name.startswith(("step_", "infer_")):
        return lumus_trainings.make(name.removeprefix("step_"), compiled=variant == "compiled")
    if name.startswith(LAYERS):
        return lumus_layers.make(name)
    tensors = {key: lm.tensor(value) for key, value in arrays.items()}
    if name in ("add_no_grad", "add_grad"):
        return _add(tensors, with_grad=name == "add_grad")
    wrapped: Callable[[Any], Any] = (
        lm.compile if variant == "compiled" else lambda function: function
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
        return _adam(wrapped, tensors)
    call = _plain(name, tensors)

    def run() -> Any:
        with lm.no_grad():
            return call()

    return run, lambda result: float(result.reshape(-1)[0])


LINES: dict[str, Callable[[Any], Callable[[], Any]]] = {
    "argsort": lambda x: x.argsort,
    "cummax": lambda x: lambda: x.cummax()[0],
    "cumsum": lambda x: x.cumsum,
    "norm": lambda x: x.norm,
    "sort": lambda x: x.sort,
    "topk": lambda x: lambda: x.topk(100)[0],
}


def _plain(name: str, t: dict[str, Any]) -> Callable[[], Any]:
    if name.startswith("matmul"):
        a, b = t["a"], t["b"].T if name in TRANSPOSED else t["b"]
        return lambda: a @ b
    x = t["x"]
    if name == "argmax":
        return x.argmax
    if name in LINES:
        return LINES[name](x)
    if name == "transpose":
        return lambda: x.T.copy()
    reduction, axis = name.split("_")
    return lambda: getattr(x, reduction)(axis=int(axis))


def _add(t: dict[str, Any], *, with_grad: bool) -> Made:
    a, b = t["a"], t["b"]
    if with_grad:
        a.requires_grad_()

    def call() -> Any:
        for _ in range(1000):
            c = a + b
        return c

    return call, lambda result: float(result[0])


def _gelu_chain(wrapped: Callable[[Any], Any], x: Any, w: Any, b: Any, s: Any) -> Made:
    run = wrapped(lambda x, w, b, s: (x * w + b).gelu("tanh") * s)

    def call() -> Any:
        with lm.no_grad():
            return run(x, w, b, s)

    return call, lambda result: float(result[0, 0])


def _chain(wrapped: Callable[[Any], Any], leaf: Any) -> Made:
    def gradient(x: Any) -> Any:
        y = x
        for _ in range(50):
            y = y.tanh()
            y = y * 1.01
        return y.sum().backward()[x]

    run = wrapped(gradient)
    return lambda: run(leaf), lambda result: float(result[0])


def _softmax(t: dict[str, Any]) -> Made:
    x, grad = t["x"].requires_grad_(), t["grad"]
    return lambda: x.softmax(axis=-1).backward(grad)[x], lambda result: float(result[0, 0])


def _unary(name: str, t: dict[str, Any]) -> Made:
    x, grad = t["x"].requires_grad_(), t["grad"]
    function = getattr(lm, name)
    return lambda: function(x).backward(grad)[x], lambda result: float(result[0])


def _cross_entropy(t: dict[str, Any]) -> Made:
    x, targets = t["x"].requires_grad_(), t["targets"]
    loss = lm.nn.functional.cross_entropy
    return lambda: loss(x, targets).backward()[x], lambda result: float(result[0, 0])


def _pool(name: str, t: dict[str, Any]) -> Made:
    x, grad = t["x"].requires_grad_(), t["grad"]
    function, kwargs, _, _ = POOLS[name]
    pool = getattr(lm.nn.functional, function)
    return lambda: pool(x, **kwargs).backward(grad)[x], lambda result: float(result.sum())


def _norm(name: str, t: dict[str, Any]) -> Made:
    grad = t["grad"]
    x, weight, bias = (t[key].requires_grad_() for key in ("x", "weight", "bias"))
    functional, width = lm.nn.functional, weight.shape[0]
    mean, var = lm.zeros((width,)), lm.ones((width,))
    forward: dict[str, Callable[[], Any]] = {
        "layer": lambda: functional.layer_norm(x, width, weight, bias),
        "rms": lambda: functional.rms_norm(x, width, weight, eps=1e-5),
        "group": lambda: functional.group_norm(x, 8, weight, bias),
        "batch": lambda: functional.batch_norm(x, mean, var, weight, bias),
    }
    run = forward[name.split("_", maxsplit=1)[0]]
    return lambda: run().backward(grad), lambda store: float(store[weight][0])


def _adam(wrapped: Callable[[Any], Any], t: dict[str, Any]) -> Made:
    parameter, grad = lm.nn.Parameter(t["p"]), t["g"]
    optimizer = lm.optim.Adam([parameter], lr=1e-3)

    def update(grad: Any) -> Any:
        store = lm.GradStore()
        store.replace(parameter, grad)
        optimizer.step(store)
        return parameter

    run = wrapped(update)
    return lambda: run(grad), lambda result: float(result.detach()[0])
