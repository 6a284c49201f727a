"""The compiled cases in JAX. `make` returns (call, number): run once, and what came out.

There is one variant: each case is one `jax.jit`, a training step with donated state. Images have
their channels last, as XLA's CPU back end has them; the weights are turned to it once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.peers import jax_trainings

Made = tuple[Callable[[], Any], Callable[[Any], float]]


def start(threads: int) -> None:
    """XLA has a thread for each processor that the process may use when the back end starts."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    jax.config.update("jax_platforms", "cpu")


def make(name: str, arrays: dict[str, Any], variant: str) -> Made:
    del variant
    if name.startswith(("step_", "infer_")):
        return jax_trainings.make(name.removeprefix("step_"))
    given = {key: jnp.asarray(value) for key, value in arrays.items()}
    if name == "adam":
        return _adam(**given)
    if name == "chain":
        gradient = jax.jit(jax.grad(_chain))
        return lambda: gradient(given["a"]), lambda result: float(result[0])
    run = jax.jit(lambda x, w, b, s: jax.nn.gelu(x * w + b, approximate=True) * s)
    return lambda: run(**given), lambda result: float(np.asarray(result)[0, 0])


def _chain(x: Any) -> Any:
    for _ in range(50):
        x = jnp.tanh(x)
        x = x * 1.01
    return x.sum()


def _adam(p: Any, g: Any) -> Made:
    update = jax.jit(lambda *state: jax_trainings.adam(*state, lr=1e-3), donate_argnums=(0, 2))
    parameters, moments = {"p": p}, jax_trainings.first_moments("Adam", {"p": p})

    def call() -> Any:
        nonlocal parameters, moments
        parameters, moments = update(parameters, {"p": g}, moments)
        return parameters["p"]

    return call, lambda result: float(result[0])
