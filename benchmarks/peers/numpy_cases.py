"""Inference of the MLP and products with a vector in NumPy. `make` returns (call, number)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.cases import TRANSPOSED
from benchmarks.trainings import example, weight

Made = tuple[Callable[[], Any], Callable[[Any], float]]


def start(threads: int) -> None:
    """The threads of NumPy's products follow from the environment."""


def make(name: str, arrays: dict[str, Any], variant: str) -> Made:
    del variant
    if name.startswith("matmul"):
        a, b = arrays["a"], arrays["b"].T if name in TRANSPOSED else arrays["b"]
        return lambda: a @ b, lambda result: float(result.reshape(-1)[0])
    x = example(name.removeprefix("infer_"))
    layers = [
        (weight(f"{2 * layer}.weight", (outer, inner)), weight(f"{2 * layer}.bias", (outer,)))
        for layer, (inner, outer) in enumerate(itertools.pairwise((784, 256, 128, 10)))
    ]

    def call() -> Any:
        y = x
        for matrix, bias in layers[:-1]:
            y = np.maximum(y @ matrix.T + bias, 0)
        matrix, bias = layers[-1]
        return y @ matrix.T + bias

    return call, lambda scores: float((scores**2).sum())
