"""lumus for a harness that runs the same workloads in many libraries; README.md says how.

`make(variant, threads)` returns an object with `train`, `infer`, `micro` and `overhead`; each
returns None for what the variant has not. Variants: `eager`, and `jit`, which is `lm.compile`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import lumus as lm
from benchmarks.peers import lumus_cases, lumus_trainings
from benchmarks.trainings import Training
from lumus.nn import functional

OPTIMIZERS = {"adam": "Adam", "adamw": "AdamW", "sgd": "SGD"}
SETTINGS = {"lr": "lr", "momentum": "momentum", "wd": "weight_decay"}
OVERHEAD = {
    "add_nograd": ("add_no_grad", "eager", 1000),
    "add_grad": ("add_grad", "eager", 1000),
    "chain100_fb": ("chain", "eager", 100),
    "chain100_fb_jit": ("chain", "compiled", 100),
}

# Functions of a case's arrays, by the beginnings of the cases' names.
FORWARD: dict[str, Callable[..., Any]] = {
    "a_gelu_chain": lambda x, w, b, s: lm.gelu(x * w + b, approximate="tanh") * s,
    "d_sum_ax0": lambda x: x.sum(axis=0),
    "d_sum_ax1": lambda x: x.sum(axis=1),
    "d_mean_ax0": lambda x: x.mean(axis=0),
    "d_mean_ax1": lambda x: x.mean(axis=1),
    "d_max_ax0": lambda x: x.max(axis=0),
    "d_max_ax1": lambda x: x.max(axis=1),
    "e_mm": lambda a, b: a @ b,
    "f_conv3x3_fwd": lambda x, w, dy: functional.conv2d(x, w, padding=1),
    "g_embed_fwd": lambda w, ids, dy: functional.embedding(ids, w),
    "h_transpose": lambda x: x.T.copy(),
    "i_cumsum": lambda x: x.cumsum(),
    "i_sort": lambda x: x.sort(),
    "i_argmax": lambda x: x.argmax(),
    "mm": lambda a, b: a @ b,
}
# These are differentiated by all arrays but ids.
BACKWARD: dict[str, Callable[..., Any]] = {
    "b_layernorm": lambda x, g, b: functional.layer_norm(x, x.shape[-1], g, b),
    "c_softmax": lambda x: x.softmax(axis=-1),
    "f_conv3x3_fb": lambda x, w: functional.conv2d(x, w, padding=1),
    "g_embed_fb": lambda w, ids: functional.embedding(ids, w),
}


def make(variant: str, threads: int) -> Lumus:
    return Lumus(variant, threads)


class Lumus:
    def __init__(self, variant: str, threads: int) -> None:
        self.variant = "eager" if variant == "eager" else "compiled"
        self.compiled = self.variant == "compiled"
        lm.set_num_threads(threads)

    def train(self, workload: dict[str, Any]) -> Any:
        if workload.get("amp"):
            return None
        optimizer, hyper = workload["opt"]
        step = lumus_trainings.training_step(
            _model(workload),
            Training(
                OPTIMIZERS[optimizer],
                {SETTINGS[key]: value for key, value in hyper.items()},
                loss="mse_loss" if workload.get("loss") == "mse" else "cross_entropy",
            ),
            compiled=self.compiled,
        )
        batches = [(lm.tensor(x), lm.tensor(y)) for x, y in workload["data"]]
        return lambda number: step(*batches[number % len(batches)]), float

    def infer(self, name: str) -> Any:
        import spec  # the harness's own

        workload = spec.get({"I_mlp": "W1", "I_gpt": "W5", "I_lenet": "W3"}[name], batch=1)
        run = lumus_trainings.inference(_model(workload), compiled=self.compiled)
        x = lm.tensor(workload["data"][0][0])
        return lambda: run(x), lambda scores: float(np.asarray(scores)[0, 0])

    def micro(self, case: str, arrays: dict[str, Any]) -> Any:
        tensors = {key: lm.tensor(value) for key, value in arrays.items()}
        if case.startswith("j_adam"):
            made = {key: arrays[key] for key in ("p", "g")}
            return lumus_cases.make("adam", made, self.variant)
        for name, function in BACKWARD.items():
            if case.startswith(name):
                return self._backward(function, **tensors)
        for name, function in FORWARD.items():
            if case.startswith(name):
                return self._forward(function, tensors, is_half=case.endswith("bf16"))
        return None

    def _forward(self, function: Any, tensors: dict[str, Any], *, is_half: bool) -> Any:
        run = lm.compile(function) if self.compiled else function
        given = [x.astype(lm.bfloat16) if is_half else x for x in tensors.values()]

        def call() -> Any:
            with lm.no_grad():
                return run(*given)

        return call, lambda result: float(result.reshape(-1)[0])

    def _backward(self, function: Any, dy: Any, **tensors: Any) -> Any:
        given = [x if name == "ids" else x.requires_grad_() for name, x in tensors.items()]

        def gradients(dy: Any, *given: Any) -> Any:
            y = function(*given)
            return y.detach(), y.backward(dy)

        run = lm.compile(gradients) if self.compiled else gradients
        return (
            lambda: run(dy, *given),
            lambda result: float(result[1][given[0]].reshape(-1)[0]),
        )

    def overhead(self, case: str) -> Any:
        name, variant, num_operations = OVERHEAD[case]
        if variant != self.variant:
            return None
        ones = {key: np.ones(10, np.float32) for key in ("a", "b")}
        return *lumus_cases.make(name, ones, variant), num_operations


def _model(workload: dict[str, Any]) -> Any:
    """The model of a workload, with the harness's weights: they are in the order of the layers."""
    kind = workload["kind"]
    if kind == "mlp" and workload["act"] == "tanh":
        kind = "tiny"
    if kind == "gpt":
        model: Any = lumus_trainings.GPT(workload["L"])
    else:
        model = lumus_trainings.MODELS["resnet" if kind == "resnet8" else kind]()
    return lumus_trainings.load(model, workload["params"].values())
