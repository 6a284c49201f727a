"""A small model with an optimiser, and a loop over steps, for tests of compiled training."""

from collections.abc import Callable
from typing import Any

import numpy as np

import lumus as lm


def model_and_optimizer(kind: str = "adamw") -> tuple[Any, Any]:
    lm.random.seed(1)
    model = lm.nn.Sequential(
        lm.nn.Linear(4, 8), lm.nn.ReLU(), lm.nn.Dropout(0.25), lm.nn.Linear(8, 3)
    )
    optimizers: dict[str, Callable[[], Any]] = {
        "adamw": lambda: lm.optim.AdamW(model.parameters(), lr=0.1),
        "adam": lambda: lm.optim.Adam(model.parameters(), lr=0.1, weight_decay=0.1),
        "sgd": lambda: lm.optim.SGD(model.parameters(), lr=0.1),
        "momentum": lambda: lm.optim.SGD(
            model.parameters(), lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.01
        ),
        "nesterov": lambda: lm.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True),
    }
    return model, optimizers[kind]()


X = lm.tensor(np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32))
Y = lm.tensor([0, 1, 2, 0, 1])


def train(step: Callable[..., Any], optimizer: Any, steps: int = 6) -> list[float]:
    lm.random.seed(5)
    losses = []
    for number in range(steps):
        optimizer.lr = 0.1 / (1 + number)
        losses.append(step(X, Y).item())
    return losses
