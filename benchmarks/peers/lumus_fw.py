"""lumus for the harness that trains whole models in many libraries.

`make(variant, threads)` returns an object with `train`, `infer`, `micro` and `overhead`; each
returns None for what lumus does not have yet. Variants: `eager`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import lumus as lm
from benchmarks.peers import lumus_cases

CASES = {
    "a_gelu_chain_1M": "gelu_chain",
    "c_softmax_4096x1024_fb": "softmax",
    "d_sum_ax0": "sum_0",
    "d_sum_ax1": "sum_1",
    "d_mean_ax0": "mean_0",
    "d_mean_ax1": "mean_1",
    "d_max_ax0": "max_0",
    "d_max_ax1": "max_1",
    "e_mm_64x784x512": "matmul_mlp",
    "e_mm_512x384x1536": "matmul_gpt",
    "e_mm_1024": "matmul_1024",
    "h_transpose_4096": "transpose",
    "i_argmax_1M": "argmax",
    "j_adam_10M": "adam",
}
OVERHEAD = {"add_nograd": "add_no_grad", "add_grad": "add_grad", "chain100_fb": "chain"}


def make(variant: str, threads: int) -> Lumus:
    return Lumus(variant, threads)


class Lumus:
    def __init__(self, variant: str, threads: int) -> None:
        self.eager = variant == "eager"
        lm.set_num_threads(threads)

    def train(self, workload: dict[str, Any]) -> Any:
        if not self.eager or workload["kind"] != "mlp":
            return None
        model = _mlp(workload)
        name, hyper = workload["opt"]
        if name == "adam":
            optimizer: Any = lm.optim.Adam(model.parameters(), lr=hyper["lr"])
        else:
            optimizer = lm.optim.SGD(
                model.parameters(),
                lr=hyper["lr"],
                momentum=hyper["momentum"],
                weight_decay=hyper["wd"],
            )
        squared = workload.get("loss") == "mse"
        loss_of = lm.nn.functional.mse_loss if squared else lm.nn.functional.cross_entropy
        batches = [(lm.tensor(x), lm.tensor(y)) for x, y in workload["data"]]

        def step(number: int) -> Any:
            x, y = batches[number % len(batches)]
            loss = loss_of(model(x), y)
            optimizer.step(loss.backward())
            return loss.detach()

        return step, float

    def infer(self, name: str) -> Any:
        if not self.eager or name != "I_mlp":
            return None
        import spec  # the harness's own

        workload = spec.get("W1", batch=1)
        model = _mlp(workload).eval()
        x = lm.tensor(workload["data"][0][0])

        def call() -> Any:
            with lm.no_grad():
                return model(x)

        return call, lambda result: float(result[0, 0])

    def micro(self, case: str, arrays: dict[str, Any]) -> Any:
        if not self.eager or case not in CASES:
            return None
        named = {"dy": "grad"}
        given = {named.get(key, key): np.asarray(value) for key, value in arrays.items()}
        return lumus_cases.make(CASES[case], {k: v for k, v in given.items() if k not in "mv"})

    def overhead(self, case: str) -> Any:
        if not self.eager or case not in OVERHEAD:
            return None
        ones = {"a": np.ones(10, np.float32), "b": np.ones(10, np.float32)}
        call, finish = lumus_cases.make(OVERHEAD[case], ones)
        return call, finish, 100 if case == "chain100_fb" else 1000


def _mlp(workload: dict[str, Any]) -> Any:
    parameters = workload["params"]
    activation: Callable[[], Any] = {"relu": lm.nn.ReLU, "tanh": lm.nn.Tanh}[workload["act"]]
    layers: list[Any] = []
    for name in [key for key in parameters if key.startswith("w")]:
        weight, bias = parameters[name], parameters["b" + name[1:]]
        layer = lm.nn.Linear(weight.shape[1], weight.shape[0])
        layer.weight.detach().copy_(lm.tensor(weight))
        layer.bias.detach().copy_(lm.tensor(bias))
        layers += [layer, activation()]
    return lm.nn.Sequential(*layers[:-1])
