"""The trainings that are measured: batches, optimisers, and weights for models with the same keys.

A model of any library gets its weights from the names and shapes of its parameters alone, so
they are the same in each. An MLP, a small regression, LeNet, ResNet-8, a small GPT.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

NUM_BATCHES = 8
VOCABULARY, CONTEXT, WIDTH, HEADS, DEPTH = 65, 64, 128, 4, 4


@dataclass(frozen=True)
class Training:
    """How a model is trained: its optimiser with what it is given, and its loss."""

    optimizer: str
    settings: dict[str, float]
    loss: str = "cross_entropy"


TRAININGS = {
    "mlp": Training("Adam", {"lr": 1e-3}),
    "tiny": Training("SGD", {"lr": 1e-2, "momentum": 0.9}, loss="mse_loss"),
    "lenet": Training("Adam", {"lr": 1e-3}),
    "resnet": Training("SGD", {"lr": 0.02, "momentum": 0.9, "weight_decay": 5e-4}),
    "gpt": Training("AdamW", {"lr": 3e-4, "weight_decay": 0.01}),
}

# (name, channels in, channels out, kernel, stride) of ResNet-8's convolutions.
RESNET_CONVOLUTIONS = (
    ("stem", 3, 16, 3, 1),
    ("s0a", 16, 16, 3, 1),
    ("s0b", 16, 16, 3, 1),
    ("s1a", 16, 32, 3, 2),
    ("s1b", 32, 32, 3, 1),
    ("s1d", 16, 32, 1, 2),
    ("s2a", 32, 64, 3, 2),
    ("s2b", 64, 64, 3, 1),
    ("s2d", 32, 64, 1, 2),
)


def weight(name: str, shape: tuple[int, ...]) -> Any:
    """The initial value of a parameter: it depends on its name and shape."""
    if name.endswith("bias"):
        return np.zeros(shape, np.float32)
    if len(shape) == 1:
        return np.ones(shape, np.float32)
    random = np.random.default_rng(zlib.crc32(name.encode()))
    scale = 0.02 if "embedding" in name else math.sqrt(1.5 / math.prod(shape[1:]))
    return (scale * random.standard_normal(shape)).astype(np.float32)


def batches(name: str) -> list[tuple[Any, Any]]:
    """The batches of a training, which are gone through in turn."""
    random = np.random.default_rng(1234)

    def normal(*shape: int) -> Any:
        return random.standard_normal(shape, dtype=np.float32)

    made: list[tuple[Any, Any]] = []
    for _ in range(NUM_BATCHES):
        if name == "tiny":
            x = normal(32, 16)
            made.append((x, np.sin(x.sum(axis=1, keepdims=True)).astype(np.float32)))
        elif name == "gpt":
            ids = random.integers(0, VOCABULARY, (16, CONTEXT + 1))
            made.append((ids[:, :-1].copy(), ids[:, 1:].copy()))
        else:
            shape = {"mlp": (64, 784), "lenet": (64, 1, 28, 28), "resnet": (32, 3, 32, 32)}[name]
            made.append((normal(*shape), random.integers(0, 10, shape[0])))
    return made


def example(name: str) -> Any:
    """One example for inference."""
    return batches(name)[0][0][:1].copy()
