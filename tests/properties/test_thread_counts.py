"""Bits do not depend on the number of threads: one process, each op under 1, 2, 3 and 8."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.nn.functional import (
    binary_cross_entropy_with_logits,
    conv2d,
    cross_entropy,
    ctc_loss,
    dropout,
    huber_loss,
)

THREADS = (1, 2, 3, 8)
ROWS, COLUMNS = 311, 1021  # odd lengths: the last piece of the work is a short one


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    before = lm.num_threads()
    yield
    lm.set_num_threads(before)


def values(*shape: int, seed: int = 0, scale: float = 1.0) -> lm.Tensor[Any]:
    """Numbers of which the order of a sum changes the last bits."""
    random = np.random.default_rng(seed)
    return lm.tensor((random.normal(size=shape) * scale).astype(np.float32))


def places(count: int, bound: int) -> lm.Tensor[Any]:
    """Indices with many duplicates."""
    return lm.tensor(np.random.default_rng(1).integers(0, bound, count))


X = values(ROWS, COLUMNS)
Y = values(ROWS, COLUMNS, seed=1)
CUBE = values(37, 89, 101)
LONG = values(1_000_003)
PICTURES = values(9, 18, 31, 37)


def gradients(function: Any, *inputs: lm.Tensor[Any]) -> list[lm.Tensor[Any]]:
    """The result and the gradients of a function of copies of the inputs."""
    leaves = [one.detach().copy().requires_grad_() for one in inputs]
    result = function(*leaves)
    store = result.backward(values(*result.shape, seed=2) if result.ndim else None)
    return [result.detach(), *[store[one] for one in leaves]]


def training() -> list[lm.Tensor[Any]]:
    """The parameters and the last loss of a few steps of a net with dropout."""
    generator = lm.random.Generator(5)
    shapes = [(256, 200), (200,), (200, 10), (10,)]
    weights = [
        lm.random.normal(shape, std=0.1, generator=generator, requires_grad=True)
        for shape in shapes
    ]
    optimizer = lm.optim.AdamW(weights, lr=1e-2)
    classes = places(512, 10)
    loss = lm.zeros(())
    for step in range(4):
        x = values(512, 256, seed=step)
        hidden = (x @ weights[0] + weights[1]).gelu()
        logits = dropout(hidden, 0.3, generator=generator) @ weights[2] + weights[3]
        loss = cross_entropy(logits, classes)
        optimizer.step(loss.backward())
    return [loss.detach(), *[one.detach() for one in weights]]


CASES = {
    "elementwise": lambda: [(X * Y + 0.5).tanh() / (Y.exp() + 1.0)],
    "elementwise broadcast": lambda: [X + Y[0], X * Y[:, :1], X.T - Y.T],
    "elementwise half": lambda: [X.astype(lm.float16) * Y.astype(lm.float16)],
    "fused gradient": lambda: gradients(lambda x, y: (x * y).gelu().silu(), X, Y),
    "gradient of a broadcast operand": lambda: gradients(lambda x, y: x * y, X, Y[0]),
    "sum over all": lambda: [LONG.sum(), X.sum(), X.T.sum()],
    "sum over each axis": lambda: [CUBE.sum(axis=axis) for axis in range(3)],
    "sum over each pair of axes": lambda: [
        CUBE.sum(axis=pair) for pair in ((0, 1), (0, 2), (1, 2))
    ],
    "sum of halves": lambda: [X.astype(lm.bfloat16).sum(axis=0), X.astype(lm.float16).sum()],
    "mean": lambda: [LONG.mean(), X.mean(axis=0), X.mean(axis=1)],
    "prod": lambda: [CUBE.prod(axis=0), CUBE.prod(axis=2)],
    "var and std": lambda: [X.var(), X.var(axis=0), X.std(axis=1)],
    "max and argmax": lambda: [X.max(), X.max(axis=0), X.argmax(axis=1), LONG.argmax()],
    "logsumexp": lambda: [X.logsumexp(), X.logsumexp(axis=0), X.logsumexp(axis=1)],
    "norms": lambda: [
        LONG.norm(),
        LONG.norm(3.0),
        *gradients(lambda x: x.norm(axis=1) + x.norm(float("inf"), axis=1), X),
        *gradients(lambda x, y: lm.cdist(x[:, :9], y[:200, :9]), X, Y),
    ],
    "quantiles": lambda: [CUBE.median(axis=(0, 2)), lm.quantile(X, [0.1, 0.7], axis=0)],
    "scans": lambda: [
        LONG.cumsum(),
        *gradients(lambda x: x.cumsum(axis=0) + x.cumprod(axis=1), X),
        *gradients(lambda x: lm.logcumsumexp(x, axis=1), CUBE),
        *X.cummax(axis=0),
    ],
    "sort": lambda: [
        *gradients(lambda x: x.sort(axis=0), X),
        LONG[:200_001].sort(descending=True),
        LONG[:200_001].astype(lm.float64).argsort(),
        *LONG.topk(100),
        *LONG[:200_001].topk(80_000, largest=False),
        lm.searchsorted(X[0].sort(), LONG[:200_001]),
    ],
    "softmax": lambda: gradients(lambda x: x.softmax(axis=1), X),
    "softmax over columns": lambda: gradients(lambda x: x.softmax(axis=0), X),
    "log_softmax": lambda: gradients(lambda x: x.log_softmax(axis=-1), CUBE),
    "cross_entropy": lambda: [
        *gradients(lambda x: cross_entropy(x, places(ROWS, COLUMNS), label_smoothing=0.1), X),
        *gradients(lambda x: cross_entropy(x, places(ROWS, COLUMNS), reduction="none"), X),
    ],
    "elementwise losses": lambda: gradients(
        lambda x, y: binary_cross_entropy_with_logits(x, y) + huber_loss(x, y), X, Y
    ),
    "ctc_loss": lambda: gradients(
        lambda x: ctc_loss(x, places(89 * 9, 100) + 1, [37] * 89, [9] * 89), CUBE
    ),
    "matmul": lambda: gradients(lambda x, y: x @ y.T, X, Y),
    "matmul of few rows": lambda: [X[:3] @ Y.T, X.T[:, :5] @ Y[:5]],
    "matmul of batches": lambda: [CUBE @ CUBE.mT],
    "matmul of float64": lambda: [X.astype(lm.float64) @ Y.astype(lm.float64).T],
    "matmul of halves": lambda: [X.astype(lm.bfloat16) @ Y.astype(lm.bfloat16).T],
    "copy": lambda: [X.T.copy(), CUBE.permute_dims(2, 0, 1).copy(), LONG[::-1].copy()],
    "cast": lambda: [LONG.astype(lm.float16), (LONG * 100).astype(lm.int8), X.T.astype(lm.float64)],
    "concat": lambda: [lm.concat([X, Y], axis=1), lm.stack([X, Y])],
    "index": lambda: gradients(lambda x: x[places(700, ROWS)], X),
    "index_put that accumulates": lambda: [
        X.at[places(700, ROWS)].add(values(700, COLUMNS)),
        LONG.at[places(300_000, 1000)].add(values(300_000)),
        CUBE.at[:, places(200, 89)].add(values(37, 200, 101)),
    ],
    "index_put that replaces": lambda: [
        X.at[places(700, ROWS)].set(values(700, COLUMNS)),
        LONG.at[places(300_000, 1000)].set(values(300_000)),
    ],
    "scatter_add": lambda: [
        lm.scatter_add(X, lm.tensor(np.arange(X.size).reshape(X.shape) % 17), Y, axis=0)
    ],
    "take_along_axis": lambda: [lm.take_along_axis(X, X.argmax(axis=0, keepdims=True), axis=0)],
    "mask": lambda: [LONG[LONG > 0.5]],
    "convolution": lambda: [
        *gradients(lambda x, w: conv2d(x, w, padding=1), PICTURES, values(24, 18, 3, 3)),
        *gradients(lambda x, w: conv2d(x, w, stride=2), PICTURES, values(40, 18, 2, 2)),
        *gradients(lambda x, w: conv2d(x, w, groups=18), PICTURES, values(18, 1, 3, 3)),
        *gradients(lambda x, w: conv2d(x, w), PICTURES, values(20, 18, 1, 1)),
    ],
    "random": lambda: [
        lm.random.normal((300_001,), generator=lm.random.Generator(3)),
        lm.random.uniform((300_001,), dtype=lm.float64, generator=lm.random.Generator(3)),
        lm.random.integers((300_001,), -5, 1000, generator=lm.random.Generator(3)),
        lm.random.bernoulli((300_001,), 0.3, generator=lm.random.Generator(3)),
    ],
    "training": training,
}


def bits(tensor: lm.Tensor[Any]) -> bytes:
    """The elements, byte for byte."""
    if tensor.dtype is lm.bfloat16:  # a wider dtype holds every bfloat16 exactly
        tensor = tensor.astype(lm.float32)
    return tensor.detach().copy().numpy().tobytes()


@pytest.mark.parametrize("name", CASES)
def test_results_are_the_same_bits_for_any_number_of_threads(name: str) -> None:
    found: dict[int, list[bytes]] = {}
    for threads in THREADS:
        lm.set_num_threads(threads)
        assert lm.num_threads() == threads
        found[threads] = [bits(one) for one in CASES[name]()]
    for threads in THREADS[1:]:
        for place, (one, other) in enumerate(zip(found[1], found[threads], strict=True)):
            assert one == other, f"result {place} differs between 1 and {threads} threads"
