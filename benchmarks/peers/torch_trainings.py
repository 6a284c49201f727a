"""The trainings and inferences in PyTorch. `make` returns (call, number)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from benchmarks.trainings import (
    CONTEXT,
    DEPTH,
    HEADS,
    RESNET_CONVOLUTIONS,
    TRAININGS,
    VOCABULARY,
    WIDTH,
    batches,
    example,
    weight,
)

Made = tuple[Callable[[], Any], Callable[[Any], float]]


class Convolution(nn.Module):
    """A convolution and its batch norm."""

    def __init__(self, c_in: int, c_out: int, kernel: int, stride: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(c_in, c_out, kernel, stride, padding=kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(c_out)

    def forward(self, x: Any) -> Any:
        return self.norm(self.conv(x))


class ResNet8(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        for name, c_in, c_out, kernel, stride in RESNET_CONVOLUTIONS:
            setattr(self, name, Convolution(c_in, c_out, kernel, stride))
        self.head = nn.Linear(64, 10)

    def forward(self, x: Any) -> Any:
        x = self.stem(x).relu()
        for stage in ("s0", "s1", "s2"):
            first, second = getattr(self, f"{stage}a"), getattr(self, f"{stage}b")
            down = getattr(self, f"{stage}d", None)
            x = (second(first(x).relu()) + (x if down is None else down(x))).relu()
        return self.head(x.mean(dim=(2, 3)))


class Block(nn.Module):
    """A causal transformer block, norms first."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.qkv = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH)
        self.proj, self.norm2 = nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH)
        self.widen, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape
        heads = self.qkv(self.norm1(x)).view(batch, length, 3, HEADS, width // HEADS)
        q, k, v = heads.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(functional.gelu(self.widen(self.norm2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.place_embedding = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(DEPTH)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.places = torch.arange(CONTEXT)

    def forward(self, ids: Any) -> Any:
        x = self.token_embedding(ids) + self.place_embedding(self.places)
        return self.head(self.norm(self.blocks(x)))


def _lenet() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(400, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, 10),
    )


def _mlp() -> nn.Module:
    return nn.Sequential(
        nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10)
    )


def _tiny() -> nn.Module:
    return nn.Sequential(
        nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1)
    )


MODELS: dict[str, Callable[[], nn.Module]] = {
    "mlp": _mlp,
    "tiny": _tiny,
    "lenet": _lenet,
    "resnet": ResNet8,
    "gpt": GPT,
}


def make(name: str, variant: str) -> Made:
    """The training or, if the name begins with `infer_`, the inference of one example.

    `eager` has the default optimisers, as most users write it; `fused` and `compiled` have the
    fused ones, and `compiled` compiles the model with its loss.
    """
    kind = name.removeprefix("infer_")
    model = MODELS[kind]()
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(weight(key, tuple(parameter.shape))))
    return _training(kind, model, variant) if kind == name else _inference(kind, model, variant)


def _training(name: str, model: nn.Module, variant: str) -> Made:
    how = TRAININGS[name]
    fused = None if variant == "eager" else True
    optimizer = getattr(torch.optim, how.optimizer)(model.parameters(), **how.settings, fused=fused)
    loss_function = getattr(functional, how.loss)

    def loss_of(x: Any, y: Any) -> Any:
        scores = model(x)
        if scores.ndim > 2:  # one row for each token
            scores, y = scores.reshape(-1, scores.shape[-1]), y.reshape(-1)
        return loss_function(scores, y)

    if variant == "compiled":
        loss_of = torch.compile(loss_of, dynamic=False)
    made = itertools.cycle([(torch.from_numpy(x), torch.from_numpy(y)) for x, y in batches(name)])

    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_of(*next(made))
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, float


def _inference(name: str, model: nn.Module, variant: str) -> Made:
    model.eval()
    x = torch.from_numpy(example(name))

    def scores(x: Any) -> Any:
        y = model(x)
        return y[:, -1] if y.ndim > 2 else y

    run = torch.compile(scores, dynamic=False) if variant == "compiled" else scores

    def call() -> Any:
        with torch.inference_mode():
            return run(x)

    return call, lambda result: result.square().sum().item()
