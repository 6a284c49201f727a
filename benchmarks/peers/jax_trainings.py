"""The trainings and inferences in JAX. `make(name)` returns (call, number)."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn

from benchmarks.trainings import (
    CONTEXT,
    DEPTH,
    HEADS,
    RESNET_CONVOLUTIONS,
    TRAININGS,
    VOCABULARY,
    WIDTH,
    batches,
    example,
    weight,
)

Made = tuple[Callable[[], Any], Callable[[Any], float]]
Arrays = dict[str, Any]

# The optimisers: (parameters, gradients, moments) -> (parameters, moments) ------------------------


def first_moments(optimizer: str, parameters: Arrays) -> Any:
    """The state before the first step: the number of steps done, and what is averaged."""
    count = 1 if optimizer == "SGD" else 2
    averages = [{key: jnp.zeros_like(p) for key, p in parameters.items()} for _ in range(count)]
    return jnp.zeros(()), averages


def adam(p: Arrays, g: Arrays, moments: Any, *, lr: float, weight_decay: float = 0.0) -> Any:
    """Adam, and AdamW if there is weight decay."""
    number, (first, second) = moments
    number = number + 1
    # 1 - beta**number would lose digits in float32.
    rate = lr / -jnp.expm1(number * math.log(0.9))
    root = jnp.sqrt(-jnp.expm1(number * math.log(0.999)))
    first = {key: 0.9 * m + 0.1 * g[key] for key, m in first.items()}
    second = {key: 0.999 * v + 0.001 * g[key] ** 2 for key, v in second.items()}
    new = {
        key: (1 - lr * weight_decay) * value
        - rate * first[key] / (jnp.sqrt(second[key]) / root + 1e-8)
        for key, value in p.items()
    }
    return new, (number, [first, second])


def sgd(
    p: Arrays, g: Arrays, moments: Any, *, lr: float, momentum: float, weight_decay: float = 0.0
) -> Any:
    number, (velocity,) = moments
    velocity = {key: momentum * v + g[key] + weight_decay * p[key] for key, v in velocity.items()}
    return {key: p[key] - lr * v for key, v in velocity.items()}, (number, [velocity])


OPTIMIZERS: dict[str, Callable[..., Any]] = {"Adam": adam, "AdamW": adam, "SGD": sgd}

# The models: (parameters, x) -> scores. Parameters have the keys of the other libraries' modules. -


def _shape(key: str, shape: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{key}.weight", shape
    yield f"{key}.bias", shape[:1]


def _linear(p: Arrays, key: str, x: Any) -> Any:
    return x @ p[f"{key}.weight"] + p[f"{key}.bias"]


def _convolution(x: Any, kernel: Any, stride: int, padding: int) -> Any:
    pads = [(padding, padding)] * 2
    layout = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, kernel, (stride, stride), pads, dimension_numbers=layout)


def _pool(x: Any) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def _dense(widths: tuple[int, ...], activation: Any) -> tuple[list[Any], Callable[..., Any]]:
    """Linear layers with an activation between them, numbered as in a sequence with both."""
    keys = [str(2 * layer) for layer in range(len(widths) - 1)]
    shapes = [
        one
        for key, (inner, outer) in zip(keys, itertools.pairwise(widths), strict=True)
        for one in _shape(key, (outer, inner))
    ]

    def forward(p: Arrays, x: Any) -> Any:
        for key in keys[:-1]:
            x = activation(_linear(p, key, x))
        return _linear(p, keys[-1], x)

    return shapes, forward


LENET_SHAPES = [
    *_shape("0", (6, 1, 5, 5)),
    *_shape("3", (16, 6, 5, 5)),
    *_shape("7", (120, 400)),
    *_shape("9", (84, 120)),
    *_shape("11", (10, 84)),
]


def _lenet(p: Arrays, x: Any) -> Any:
    x = _pool(nn.relu(_convolution(x, p["0.weight"], 1, 2) + p["0.bias"]))
    x = _pool(nn.relu(_convolution(x, p["3.weight"], 1, 0) + p["3.bias"]))
    x = nn.relu(_linear(p, "7", x.reshape(len(x), -1)))
    return _linear(p, "11", nn.relu(_linear(p, "9", x)))


RESNET_SHAPES = [
    one
    for name, c_in, c_out, kernel, _ in RESNET_CONVOLUTIONS
    for one in (
        (f"{name}.conv.weight", (c_out, c_in, kernel, kernel)),
        *_shape(f"{name}.norm", (c_out,)),
    )
] + list(_shape("head", (10, 64)))
RESNET = {name: (kernel, stride) for name, _, _, kernel, stride in RESNET_CONVOLUTIONS}


def _resnet(p: Arrays, x: Any) -> Any:
    """The running statistics, which training does not read, are results beside the scores."""
    statistics: Arrays = {}

    def normed(name: str, x: Any) -> Any:
        kernel, stride = RESNET[name]
        y = _convolution(x, p[f"{name}.conv.weight"], stride, kernel // 2)
        mean, variance = y.mean((0, 1, 2)), y.var((0, 1, 2))
        statistics[name] = (mean, variance)
        y = (y - mean) * lax.rsqrt(variance + 1e-5)
        return y * p[f"{name}.norm.weight"] + p[f"{name}.norm.bias"]

    x = nn.relu(normed("stem", x))
    for stage in ("s0", "s1", "s2"):
        y = normed(f"{stage}b", nn.relu(normed(f"{stage}a", x)))
        x = nn.relu(y + (normed(f"{stage}d", x) if f"{stage}d" in RESNET else x))
    return _linear(p, "head", x.mean((1, 2))), statistics


def _block_shapes(block: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    for key, shape in (
        ("norm1", (WIDTH,)),
        ("qkv", (3 * WIDTH, WIDTH)),
        ("proj", (WIDTH, WIDTH)),
        ("norm2", (WIDTH,)),
        ("widen", (4 * WIDTH, WIDTH)),
        ("narrow", (WIDTH, 4 * WIDTH)),
    ):
        yield from _shape(f"{block}.{key}", shape)


GPT_SHAPES = [
    ("token_embedding.weight", (VOCABULARY, WIDTH)),
    ("place_embedding.weight", (CONTEXT, WIDTH)),
    *[one for layer in range(DEPTH) for one in _block_shapes(f"blocks.{layer}")],
    *_shape("norm", (WIDTH,)),
    ("head.weight", (VOCABULARY, WIDTH)),
]


def _layer_norm(p: Arrays, key: str, x: Any) -> Any:
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * p[f"{key}.weight"] + p[f"{key}.bias"]


def _attention(p: Arrays, block: str, x: Any) -> Any:
    batch, length, width = x.shape
    heads = _linear(p, f"{block}.qkv", x).reshape(batch, length, 3, HEADS, width // HEADS)
    mixed = nn.dot_product_attention(*jnp.moveaxis(heads, 2, 0), is_causal=True)
    return _linear(p, f"{block}.proj", mixed.reshape(batch, length, width))


def _gpt(p: Arrays, ids: Any) -> Any:
    x = p["token_embedding.weight"][ids] + p["place_embedding.weight"]
    for layer in range(DEPTH):
        block = f"blocks.{layer}"
        x = x + _attention(p, block, _layer_norm(p, f"{block}.norm1", x))
        y = _linear(p, f"{block}.widen", _layer_norm(p, f"{block}.norm2", x))
        x = x + _linear(p, f"{block}.narrow", nn.gelu(y, approximate=True))
    return _layer_norm(p, "norm", x) @ p["head.weight"]


MODELS: dict[str, tuple[list[Any], Callable[..., Any]]] = {
    "mlp": _dense((784, 256, 128, 10), nn.relu),
    "tiny": _dense((16, 32, 32, 1), jnp.tanh),
    "lenet": (LENET_SHAPES, _lenet),
    "resnet": (RESNET_SHAPES, _resnet),
    "gpt": (GPT_SHAPES, _gpt),
}

# Steps --------------------------------------------------------------------------------------------


def _parameter(key: str, shape: tuple[int, ...]) -> Any:
    """A parameter in JAX's usual layout: channels and features in first, out last."""
    value = weight(key, shape)
    if key == "7.weight":  # LeNet's first dense layer reads what was an image
        value = value.reshape(-1, 16, 5, 5).transpose(0, 2, 3, 1).reshape(shape)
    if value.ndim == 4:
        value = value.transpose(2, 3, 1, 0)
    elif value.ndim == 2 and "embedding" not in key:
        value = value.T
    return jnp.asarray(np.ascontiguousarray(value))


def _input(x: Any) -> Any:
    return jnp.asarray(np.ascontiguousarray(x.transpose(0, 2, 3, 1)) if x.ndim == 4 else x)


def _loss(name: str, scores: Any, y: Any) -> Any:
    if TRAININGS[name].loss == "mse_loss":
        return ((scores - y) ** 2).mean()
    scores, y = scores.reshape(-1, scores.shape[-1]), y.reshape(-1)
    chosen = jnp.take_along_axis(scores, y[:, None], 1)[:, 0]
    return (nn.logsumexp(scores, -1) - chosen).mean()


def make(name: str) -> Made:
    """The training or, if the name begins with `infer_`, the inference of one example."""
    kind = name.removeprefix("infer_")
    shapes, forward = MODELS[kind]
    parameters = {key: _parameter(key, shape) for key, shape in shapes}
    if kind == name:
        return _training(name, forward, parameters)
    x = _input(example(kind))
    run = jax.jit(lambda p, x: forward(p, x)[:, -1] if kind == "gpt" else forward(p, x))
    return lambda: run(parameters, x), lambda scores: float((np.asarray(scores) ** 2).sum())


def _training(name: str, forward: Callable[..., Any], parameters: Arrays) -> Made:
    how = TRAININGS[name]
    update = functools.partial(OPTIMIZERS[how.optimizer], **how.settings)

    def loss_of(p: Arrays, running: Arrays, x: Any, y: Any) -> Any:
        if name != "resnet":
            return _loss(name, forward(p, x), y), running
        scores, statistics = forward(p, x)
        mixed = jax.tree.map(lambda old, new: 0.9 * old + 0.1 * new, running, statistics)
        return _loss(name, scores, y), mixed

    def step(state: Any, x: Any, y: Any) -> Any:
        p, running, moments = state
        (loss, running), gradients = jax.value_and_grad(loss_of, has_aux=True)(p, running, x, y)
        p, moments = update(p, gradients, moments)
        return (p, running, moments), loss

    run = jax.jit(step, donate_argnums=0)
    running = {}
    if name == "resnet":
        running = {
            one: (jnp.zeros(c_out), jnp.ones(c_out)) for one, _, c_out, _, _ in RESNET_CONVOLUTIONS
        }
    state = (parameters, running, first_moments(how.optimizer, parameters))
    made = itertools.cycle([(_input(x), jnp.asarray(y)) for x, y in batches(name)])

    def call() -> Any:
        nonlocal state
        state, loss = run(state, *next(made))
        return loss

    return call, float
