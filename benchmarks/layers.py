"""The layers that are measured, forward and backward: convolutions, attention, embedding, LSTM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.trainings import RESNET_CONVOLUTIONS


@dataclass(frozen=True)
class Convolution:
    """A 2-d convolution; the first of a network needs no gradient of its input."""

    x: tuple[int, ...]
    weight: tuple[int, ...]
    stride: int = 1
    padding: int = 0
    groups: int = 1
    is_first: bool = False


def _resnet() -> list[Convolution]:
    sides = {"stem": 32, "s0": 32, "s1a": 32, "s1d": 32, "s1b": 16, "s2a": 16, "s2d": 16, "s2b": 8}
    return [
        Convolution(
            (32, c_in, side, side), (c_out, c_in, kernel, kernel), stride, kernel // 2,
            is_first=name == "stem",
        )
        for name, c_in, c_out, kernel, stride in RESNET_CONVOLUTIONS
        for side in (sides.get(name) or sides[name[:2]],)
    ]  # fmt: skip


LARGE = Convolution((32, 64, 56, 56), (64, 64, 3, 3), padding=1)
CONVOLUTIONS = {
    "conv_forward": [LARGE],
    "conv_64": [LARGE],
    "conv_small": [
        Convolution((64, 1, 28, 28), (6, 1, 5, 5), padding=2, is_first=True),
        Convolution((64, 6, 14, 14), (16, 6, 5, 5)),
        *_resnet(),
    ],
    "conv_mobile": [
        Convolution((32, 64, 56, 56), (64, 1, 3, 3), padding=1, groups=64),
        Convolution((32, 64, 56, 56), (128, 64, 1, 1)),
    ],
}
# (batch, heads, length, width), and whether it is causal
ATTENTION = {"attention_short": ((16, 4, 64, 32), True), "attention_long": ((4, 8, 1024, 64), True)}


def arrays(name: str) -> Any:
    """The inputs of a layer, alike for each library."""
    random = np.random.default_rng(11)

    def normal(*shape: int) -> Any:
        return random.standard_normal(shape, dtype=np.float32)

    if name in CONVOLUTIONS:
        return [(normal(*one.x), 0.05 * normal(*one.weight)) for one in CONVOLUTIONS[name]]
    if name in ATTENTION:
        shape, _ = ATTENTION[name]
        return [normal(*shape) for _ in range(4)]
    if name == "embedding":
        return random.integers(0, 50_000, 8_192), normal(50_000, 256), normal(8_192, 256)
    return normal(64, 32, 256), normal(64, 32, 256)
