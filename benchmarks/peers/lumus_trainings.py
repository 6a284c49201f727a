"""The trainings and inferences in lumus. `make` returns (call, number): one step, and its loss."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import lumus as lm
from benchmarks.trainings import (
    CONTEXT,
    DEPTH,
    HEADS,
    RESNET_CONVOLUTIONS,
    TRAININGS,
    VOCABULARY,
    WIDTH,
    Training,
    batches,
    example,
    weight,
)
from lumus import nn
from lumus.nn import functional

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
        return self.head(x.mean(axis=(2, 3)))


class Block(nn.Module):
    """A causal transformer block, norms first."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.qkv = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH)
        self.proj, self.norm2 = nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH)
        self.widen, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape
        heads = self.qkv(self.norm1(x)).reshape(batch, length, 3, HEADS, width // HEADS)
        q, k, v = heads.permute_dims(2, 0, 3, 1, 4).unstack()
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(mixed.permute_dims((0, 2, 1, 3)).reshape(batch, length, width))
        return x + self.narrow(lm.gelu(self.widen(self.norm2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self, depth: int = DEPTH) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.place_embedding = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(depth)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.places = lm.arange(CONTEXT)

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


def load(model: nn.Module, arrays: Iterable[Any]) -> nn.Module:
    """The model with these values in its parameters, which are in the order of their layers."""
    for parameter, array in zip(model.parameters(), arrays, strict=True):
        if parameter.shape != array.shape:
            raise ValueError(f"a parameter of {parameter.shape} cannot hold {array.shape}")
        parameter.detach().copy_(lm.tensor(array))
    return model


def training_step(model: nn.Module, how: Training, *, compiled: bool) -> Callable[[Any, Any], Any]:
    """A step on a batch, which returns its loss: forward, backward and the optimiser's update."""
    optimizer = getattr(lm.optim, how.optimizer)(model.parameters(), **how.settings)
    loss_of = getattr(functional, how.loss)

    def step(x: Any, y: Any) -> Any:
        scores = model(x)
        if scores.ndim > 2:  # one row for each token
            scores, y = scores.reshape(-1, scores.shape[-1]), y.reshape(-1)
        loss = loss_of(scores, y)
        optimizer.step(loss.backward())
        return loss.detach()

    return lm.compile(step) if compiled else step


def inference(model: nn.Module, *, compiled: bool) -> Callable[[Any], Any]:
    """The scores of a batch; of the last token, if it is text. Compiled: with fixed weights."""
    model.eval()

    def scores(x: Any) -> Any:
        y = model(x)
        return y[:, -1] if y.ndim > 2 else y

    # What a compiled function gives is on no graph.
    return lm.compile(scores, freeze=True) if compiled else lm.no_grad()(scores)


def make(name: str, *, compiled: bool) -> Made:
    """The training or, if the name begins with `infer_`, the inference of one example."""
    kind = name.removeprefix("infer_")
    model = MODELS[kind]()
    load(model, [weight(key, parameter.shape) for key, parameter in model.named_parameters()])
    if kind != name:
        x = lm.tensor(example(kind))
        run = inference(model, compiled=compiled)
        return lambda: run(x), lambda scores: float(scores.square().sum())
    step = training_step(model, TRAININGS[name], compiled=compiled)
    made = itertools.cycle([(lm.tensor(x), lm.tensor(y)) for x, y in batches(name)])
    return lambda: step(*next(made)), float
