"""Lower bounds of the training steps, inferences and chains on this machine; see README.md.

A bound is the operations of products and convolutions at the rate at which lumus multiplies large
matrices, and the bytes that must move at the bandwidth with which lumus adds arrays of that size.
The optimistic view of both is taken: elementwise work and calls are free; what backward needs is
written once and read once, and so is its gradient; parameters, gradients and the optimiser's state
are read once and written once.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import lumus as lm
from benchmarks.trainings import CONTEXT, DEPTH, RESNET_CONVOLUTIONS, TRAININGS, VOCABULARY, WIDTH

FLOAT = 4  # bytes
# Floats for each parameter: an update reads it, its gradient and its averages (one, or Adam's two)
# and writes all but the gradient.
MOVED_BY_UPDATE = {"Adam": 7, "AdamW": 7, "SGD": 5}
HELD_BY_UPDATE = {"Adam": 4, "AdamW": 4, "SGD": 3}
MEGABYTES_MEASURED = (0.5, 2, 8, 32, 128, 512)


@dataclass(frozen=True)
class Work:
    """What one example asks for.

    `products` are multiplications with addition, those of `first` with the input, which has no
    gradient; `activations` the floats that backward needs; `inputs` and `parameters` floats.
    """

    products: int
    first: int
    activations: int
    inputs: int
    parameters: int


def dense(widths: tuple[int, ...]) -> Work:
    """Linear layers: what backward needs is each one's result."""
    sizes = [inner * outer for inner, outer in itertools.pairwise(widths)]
    outputs = sum(widths[1:])
    return Work(sum(sizes), sizes[0], outputs, widths[0], sum(sizes) + outputs)


def lenet() -> Work:
    """Two convolutions, each with its activation and a pooling by two; then linear layers."""
    head = dense((400, 120, 84, 10))
    first, second = 28**2 * 6 * 25, 10**2 * 16 * 150
    images = 6 * (28**2 + 14**2) + 16 * (10**2 + 5**2)
    weights = 6 * 25 + 6 + 16 * 150 + 16
    return Work(
        first + second + head.products,
        first,
        images + head.activations,
        28**2,
        weights + head.parameters,
    )


def resnet() -> Work:
    """Of each convolution its result and what the norm and the activation make of it."""
    sides = {"stem": 32, "s0": 32, "s1": 16, "s2": 8}
    products = activations = parameters = 0
    for name, c_in, c_out, kernel, _ in RESNET_CONVOLUTIONS:
        area = sides["stem" if name == "stem" else name[:2]] ** 2
        weights = c_in * c_out * kernel**2
        products += area * weights
        activations += 2 * area * c_out
        parameters += weights + 2 * c_out
    return Work(products + 640, 32**2 * 16 * 27, activations, 3 * 32**2, parameters + 650)


def gpt(depth: int = DEPTH) -> Work:
    """Of each block and token: 16 widths; the scores of attention are made anew in backward.

    Causal attention multiplies half of the scores, once with the keys and once with the values.
    """
    weights = 12 * WIDTH**2
    block = weights + WIDTH * CONTEXT
    return Work(
        CONTEXT * (depth * block + VOCABULARY * WIDTH),
        0,
        CONTEXT * (WIDTH * (1 + 16 * depth) + VOCABULARY),
        0,
        depth * (weights + 13 * WIDTH) + 2 * VOCABULARY * WIDTH + CONTEXT * WIDTH + 2 * WIDTH,
    )


WORK: dict[str, tuple[int, Work]] = {
    "mlp": (64, dense((784, 256, 128, 10))),
    "tiny": (32, dense((16, 32, 32, 1))),
    "lenet": (64, lenet()),
    "resnet": (32, resnet()),
    "gpt": (16, gpt()),
}


class Machine:
    """What lumus reaches: products a second, and bytes a second for a set of a size."""

    def __init__(self, rounds: int) -> None:
        matrix = lm.ones((1024, 1024))
        self.flops = 2 * 1024**3 / _seconds(lambda: matrix @ matrix, rounds)
        self.bandwidths = {size: _bandwidth(size, rounds) for size in MEGABYTES_MEASURED}

    def bandwidth(self, nbytes: float) -> float:
        """That of the measured set whose size is nearest."""
        nearest = min(
            self.bandwidths, key=lambda size: abs(math.log(max(nbytes, 1) / (size * 2**20)))
        )
        return self.bandwidths[nearest]


def _bandwidth(megabytes: float, rounds: int) -> float:
    """Of `x += y` on a set of that size: x is read and written, y is read."""
    length = int(megabytes * 2**20) // (2 * FLOAT)
    x, y = lm.zeros((length,)), lm.ones((length,))
    return 3 * FLOAT * length / _seconds(lambda: x.add_(y), rounds)


def _seconds(call: Callable[[], Any], rounds: int) -> float:
    """The fastest of many calls, which fill a fifth of a second at least: what can be reached."""
    call()
    times: list[float] = []
    end = time.perf_counter() + 0.2
    while len(times) < rounds or time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def step(machine: Machine, work: Work, batch: int, optimizer: str) -> tuple[float, float, float]:
    """Seconds of products, of activations and of the update, in a training step."""
    flops = 2 * batch * (3 * work.products - work.first)
    kept = FLOAT * batch * work.activations
    activations = 4 * kept + FLOAT * batch * work.inputs
    held = FLOAT * HELD_BY_UPDATE[optimizer] * work.parameters
    update = FLOAT * MOVED_BY_UPDATE[optimizer] * work.parameters
    return (
        flops / machine.flops,
        activations / machine.bandwidth(2 * kept),
        update / machine.bandwidth(held),
    )


def inference(machine: Machine, work: Work) -> tuple[float, float, float]:
    """Seconds of products and of reading the parameters, for one example."""
    nbytes = FLOAT * (work.parameters + work.inputs)
    return 2 * work.products / machine.flops, nbytes / machine.bandwidth(nbytes), 0.0


def report(what: str, parts: tuple[float, float, float]) -> None:
    products, memory, update = (1e3 * part for part in parts)
    total = products + memory + update
    print(f"{what:38s} {products:10.4f} {memory:12.4f} {update:10.4f} {total:10.4f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=20, help="the fewest calls of a measurement")
    options = parser.parse_args()
    lm.set_num_threads(options.threads)
    machine = Machine(options.rounds)
    print(f"products {machine.flops / 1e9:.0f} GFLOP/s, {options.threads} threads")
    for size, rate in machine.bandwidths.items():
        print(f"bandwidth, set of {size:g} MB: {rate / 1e9:.1f} GB/s")
    print(
        f"\n{'milliseconds':38s} {'products':>10s} {'memory':>12s} {'update':>10s} {'bound':>10s}"
    )
    for name, (batch, work) in WORK.items():
        parts = step(machine, work, batch, TRAININGS[name].optimizer)
        report(f"training step {name}, batch {batch}", parts)
    for batch, depth in ((1, 4), (4, 4), (64, 4), (16, 2), (16, 8), (16, 16)):
        parts = step(machine, gpt(depth), batch, "AdamW")
        report(f"training step gpt, batch {batch}, depth {depth}", parts)
    for name in ("mlp", "gpt", "lenet"):
        report(f"inference {name}, one example", inference(machine, WORK[name][1]))
    moved = 2 * FLOAT * 10**6
    report("gelu(x*w+b)*s, 10^6 floats", (0.0, moved / machine.bandwidth(moved), 0.0))


if __name__ == "__main__":
    main()
