"""The cases: what is measured, on which inputs, and the ratio to PyTorch that is aimed at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """`calls` operations make up one call of the case.

    `target` is the ratio of times that is aimed at: to PyTorch's, or to those of the peers named.
    """

    name: str
    what: str
    target: float | dict[str, float]
    calls: int = 1
    relative_error: float = 1e-4

    @property
    def is_compiled(self) -> bool:
        return self.name.startswith("compiled_")

    @property
    def is_step(self) -> bool:
        return self.base.startswith("step_")

    @property
    def base(self) -> str:
        """The name under which the libraries have the case, in all variants."""
        return self.name.removeprefix("compiled_")

    @property
    def aims(self) -> dict[str, float]:
        return self.target if isinstance(self.target, dict) else {"torch": self.target}


CASES = [
    Case("add_no_grad", "add, 10 elements, no grad", 1.2, calls=1000),
    Case("add_grad", "add, 10 elements, with grad", 1.2, calls=1000),
    Case("chain", "chain of 100 small ops, forward + backward, per op", 1.6, calls=100),
    Case("gelu_chain", "gelu(x*w+b)*s, 10^6 floats, eager", 2.5),
    Case("unary_mish", "mish of 10^6, forward + backward", 1.5),
    Case("unary_softplus", "softplus of 10^6, forward + backward", 1.2),
    Case("unary_hardswish", "hardswish of 10^6, forward + backward", 1.2),
    Case("unary_atan", "atan of 10^6, forward + backward", 1.0),
    Case("unary_lgamma", "lgamma of 10^6, forward + backward", 1.0),
    Case("unary_erfinv", "erfinv of 10^6, forward + backward", 1.0),
    Case("sum_0", "sum over axis 0 of 4096x1024", 1.0),
    Case("sum_1", "sum over axis 1 of 4096x1024", 1.0),
    Case("mean_0", "mean over axis 0 of 4096x1024", 1.0),
    Case("mean_1", "mean over axis 1 of 4096x1024", 1.0),
    Case("max_0", "max over axis 0 of 4096x1024", 1.0),
    Case("max_1", "max over axis 1 of 4096x1024", 1.0),
    Case("argmax", "argmax of 10^6", 5.0),
    Case("argsort", "argsort of 10^6", 5.0),
    Case("cummax", "cummax of 10^6", 1.5),
    Case("cumsum", "cumsum of 10^6", 1.0),
    Case("norm", "2-norm of 10^6", 1.0),
    Case("sort", "sort of 10^6, values alone", 10.0),
    Case("topk", "topk of 10^6, k = 100", 3.0),
    Case("softmax", "softmax 4096x1024, forward + backward", 1.2),
    Case("layer_norm", "layer norm 4096x768, forward + backward", 1.1),
    Case("layer_norm_gpt", "layer norm 1024x128, forward + backward", 1.1),
    Case("rms_norm", "RMS norm 4096x768, forward + backward", 1.1),
    Case("group_norm", "group norm 32x64x28x28 in 8 groups, forward + backward", 1.1),
    Case("batch_norm", "batch norm 32x64x56x56, training, forward + backward", 1.3),
    Case("batch_norm_small", "batch norm 32x16x32x32, training, forward + backward", 1.3),
    Case("batch_norm_flat", "batch norm 512x256, training, forward + backward", 1.1),
    Case("loss_rows", "cross-entropy 4096x1024, forward + backward", 1.5),
    Case("loss_small", "cross-entropy 64x10, forward + backward", 1.5),
    Case("transpose", "transpose + copy 4096x4096", 2.5),
    Case("matmul_mlp", "matmul 64x784x512", 0.9),
    Case("matmul_gpt", "matmul 512x384x1536", 0.9),
    Case("matmul_1024", "matmul 1024^3", 0.9),
    Case("matmul_vector", "matmul 1x784 by 256x784 transposed", {"torch": 1.0, "numpy": 1.5}),
    Case("matmul_vector_plain", "matmul 1x784 by 784x256", {"torch": 1.0, "numpy": 1.0}),
    Case(
        "matmul_vector_large",
        "matmul 1x1024 by 1024x1024 transposed",
        {"torch": 1.0, "numpy": 1.0},
    ),
    Case("matmul_vector_four", "matmul 4x784 by 256x784 transposed", {"torch": 1.0, "numpy": 1.0}),
    Case("adam", "Adam update of 10^7 parameters", 5.0),
    Case("pool_max_2", "max_pool2d 2x2 of 32x64x56x56, forward + backward", 2.0),
    Case("pool_max_3", "max_pool2d 3x3 stride 2 of 32x64x56x56, forward + backward", 2.0),
    Case("pool_max_lenet", "max_pool2d 2x2 of 64x6x28x28, forward + backward", 2.0),
    Case("pool_avg_2", "avg_pool2d 2x2 of 32x64x56x56, forward + backward", 2.0),
    Case("pool_bilinear", "bilinear x2 of 8x64x28x28, forward + backward", 1.0),
    Case("pool_bicubic", "bicubic x2 of 8x64x28x28, forward + backward", 1.0),
    Case("conv_forward", "conv2d 3x3 64->64 on 32x56x56, forward", 0.8, relative_error=1e-2),
    Case("conv_64", "conv2d 3x3 64->64 on 32x56x56, forward + backward", 0.8, relative_error=1e-2),
    Case("conv_small", "LeNet's and ResNet-8's convolutions, forward + backward", 1.3),
    Case("conv_mobile", "depthwise 3x3 and 1x1 convolutions, forward + backward", 1.0),
    Case("attention_short", "attention 16x4x64x32 causal, forward + backward", 1.0),
    Case("attention_long", "attention 4x8x1024x64 causal, forward + backward", 1.0),
    Case("embedding", "embedding 50,000x256, 8,192 ids, forward + backward", 3.0),
    Case("lstm", "LSTM 2x256, 64 steps, batch 32, forward + backward", 1.0, relative_error=1e-3),
    Case("step_mlp", "training step MLP 784-256-128-10, batch 64, Adam", 1.5, relative_error=1e-3),
    Case("step_tiny", "training step MLP 16-32-32-1, batch 32, SGD", 1.5, relative_error=1e-3),
    Case("step_lenet", "training step LeNet, batch 64, Adam", 1.5, relative_error=1e-3),
    Case("step_resnet", "training step ResNet-8, batch 32, SGD", 1.0, relative_error=1e-3),
    Case("step_gpt", "training step GPT 4x128, 16x64 tokens, AdamW", 1.0, relative_error=1e-3),
    Case(
        "compiled_step_mlp",
        "training step MLP 784-256-128-10, batch 64, Adam, compiled",
        {"jax": 1.7, "torch": 3.5},
        relative_error=1e-3,
    ),
    Case(
        "compiled_step_tiny",
        "training step MLP 16-32-32-1, batch 32, SGD, compiled",
        {"jax": 2.5, "torch": 18.0},
        relative_error=1e-3,
    ),
    Case(
        "compiled_step_lenet",
        "training step LeNet, batch 64, Adam, compiled",
        {"torch": 2.2},
        relative_error=1e-3,
    ),
    Case(
        "compiled_step_resnet",
        "training step ResNet-8, batch 32, SGD, compiled",
        {"torch_compile": 1.4},
        relative_error=1e-3,
    ),
    Case(
        "compiled_step_gpt",
        "training step GPT 4x128, 16x64 tokens, AdamW, compiled",
        {"torch_fused": 1.3},
        relative_error=1e-3,
    ),
    Case(
        "compiled_infer_mlp",
        "inference MLP 784-256-128-10, batch 1, compiled",
        {"torch": 5.0, "numpy": 1.5},
    ),
    Case("compiled_infer_gpt", "inference GPT 4x128, one sequence of 64, compiled", {"torch": 1.3}),
    Case("compiled_infer_lenet", "inference LeNet, batch 1, compiled", {"torch": 2.0}),
    Case("compiled_gelu_chain", "gelu(x*w+b)*s, 10^6 floats, compiled", {"jax": 1.0}),
    Case(
        "compiled_chain",
        "chain of 100 small ops, forward + backward, per op, compiled",
        {"jax": 1.0},
        calls=100,
    ),
    Case("compiled_adam", "Adam update of 10^7 parameters, compiled", {}),
]

# Function of nn.functional, its arguments, shape and the factor by which lengths change.
POOLS: dict[str, tuple[str, dict[str, Any], tuple[int, ...], float]] = {
    "pool_max_2": ("max_pool2d", {"kernel_size": 2}, (32, 64, 56, 56), 0.5),
    "pool_max_3": (
        "max_pool2d",
        {"kernel_size": 3, "stride": 2, "padding": 1},
        (32, 64, 56, 56),
        0.5,
    ),
    "pool_max_lenet": ("max_pool2d", {"kernel_size": 2}, (64, 6, 28, 28), 0.5),
    "pool_avg_2": ("avg_pool2d", {"kernel_size": 2}, (32, 64, 56, 56), 0.5),
    "pool_bilinear": ("interpolate", {"scale_factor": 2, "mode": "bilinear"}, (8, 64, 28, 28), 2),
    "pool_bicubic": ("interpolate", {"scale_factor": 2, "mode": "bicubic"}, (8, 64, 28, 28), 2),
}


NORM_SHAPES = {
    "layer_norm": (4096, 768),
    "layer_norm_gpt": (1024, 128),
    "rms_norm": (4096, 768),
    "group_norm": (32, 64, 28, 28),
    "batch_norm": (32, 64, 56, 56),
    "batch_norm_small": (32, 16, 32, 32),
    "batch_norm_flat": (512, 256),
}


LAYERS = ("conv_", "attention_", "embedding", "lstm")

# Calls of one long line, spelled by each library in a table of its own.
LINES = ("argsort", "cummax", "cumsum", "norm", "sort", "topk")

# Products whose second operand is stored column by column, as a layer's weight is.
TRANSPOSED = ("matmul_vector", "matmul_vector_four", "matmul_vector_large")


def inputs(name: str) -> Arrays:
    """The same arrays for each library."""
    random = np.random.default_rng(7)

    def normal(*shape: int) -> Any:
        return random.standard_normal(shape, dtype=np.float32)

    if name in ("add_no_grad", "add_grad", "chain"):
        return {"a": np.ones(10, np.float32), "b": np.ones(10, np.float32)}
    if name == "gelu_chain":
        return {"x": normal(1000, 1000), "w": normal(1000), "b": normal(1000), "s": normal(1000)}
    if name == "softmax":
        return {"x": normal(4096, 1024), "grad": normal(4096, 1024)}
    if name.startswith("unary_"):
        # Within reach of each: (-1, 1) for erfinv, positive for lgamma.
        plain = normal(1_000_000)
        reach = {"unary_erfinv": np.tanh(plain), "unary_lgamma": 3 * np.abs(plain) + 0.1}
        return {"x": reach.get(name, plain), "grad": normal(1_000_000)}
    if "_norm" in name:
        shape = NORM_SHAPES[name]
        channels = shape[-1] if name.startswith(("layer", "rms")) else shape[1]
        arrays = {"x": normal(*shape), "grad": normal(*shape)}
        return arrays | {"weight": normal(channels), "bias": normal(channels)}
    if name.startswith("loss_"):
        rows, classes = (4096, 1024) if name == "loss_rows" else (64, 10)
        return {"x": normal(rows, classes), "targets": random.integers(0, classes, rows)}
    if name in ("argmax", *LINES):
        return {"x": normal(1_000_000)}
    if name == "transpose":
        return {"x": normal(4096, 4096)}
    if name.startswith("matmul"):
        rows, inner, columns = {
            "matmul_mlp": (64, 784, 512),
            "matmul_gpt": (512, 384, 1536),
            "matmul_1024": (1024, 1024, 1024),
            "matmul_vector": (1, 784, 256),
            "matmul_vector_plain": (1, 784, 256),
            "matmul_vector_large": (1, 1024, 1024),
            "matmul_vector_four": (4, 784, 256),
        }[name]
        shape = (columns, inner) if name in TRANSPOSED else (inner, columns)
        return {"a": normal(rows, inner), "b": normal(*shape)}
    if name in POOLS:
        _, _, shape, factor = POOLS[name]
        pooled = (*shape[:2], *(int(length * factor) for length in shape[2:]))
        return {"x": normal(*shape), "grad": normal(*pooled)}
    if name == "adam":
        return {"p": normal(10_000_000), "g": normal(10_000_000)}
    if name.startswith(("step_", "infer_", *LAYERS)):
        return {}  # benchmarks.trainings and benchmarks.layers make them
    return {"x": normal(4096, 1024)}
