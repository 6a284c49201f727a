"""Training a small classifier on the bundled digits, and what it leaves in its run folder."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path

from lumus.autograd.modes import no_grad
from lumus.compile.function import compile
from lumus.core.frozen import frozen
from lumus.core.kinds import Float, Int
from lumus.core.tensor import Tensor
from lumus.data.batches import Batches
from lumus.data.digits import Labelled, digits
from lumus.errors import ArgumentError, StateError
from lumus.io.atomic import replacing
from lumus.io.tensors import load_metadata, load_module, save
from lumus.nn.layers.dropout import Dropout
from lumus.nn.layers.flatten import Flatten
from lumus.nn.layers.linear import Linear
from lumus.nn.layers.relu import ReLU
from lumus.nn.layers.sequential import Sequential
from lumus.ops.loss.cross_entropy import cross_entropy
from lumus.ops.random.generator import Generator
from lumus.optim.adam import Adam


@frozen
class Options:
    """What a run is made of: the same options give the same bits."""

    epochs: int = 40
    batch_size: int = 32
    lr: float = 0.003
    seed: int = 0
    compiles: bool = True

    def check(self) -> None:
        """Raises ArgumentError for a value out of range."""
        if self.epochs < 1 or self.batch_size < 1:
            raise ArgumentError(
                f"epochs and batch size must be at least 1, got {self.epochs} and {self.batch_size}"
            )
        if not (math.isfinite(self.lr) and self.lr > 0):
            raise ArgumentError(f"the learning rate must be positive and finite, got {self.lr}")
        if not 0 <= self.seed < 2**32:
            raise ArgumentError(f"the seed must be in [0, 2**32), got {self.seed}")


DEFAULTS = Options()


@frozen
class Epoch:
    """What an epoch came to: means over its batches, and accuracies in [0, 1]."""

    epoch: int
    loss: float
    accuracy: float
    held_out_loss: float
    held_out_accuracy: float


@frozen
class Step:
    """What the progress bar shows: the batch just done, its loss and the accuracy so far."""

    epoch: int
    batch: int
    samples: int
    loss: float
    accuracy: float


def classifier(generator: Generator) -> Sequential:
    """Two hidden layers of rectified linear units, each with dropout."""
    return Sequential(
        Flatten(),
        Linear(64, 256, generator=generator),
        ReLU(),
        Dropout(0.4, generator=generator),
        Linear(256, 128, generator=generator),
        ReLU(),
        Dropout(0.4, generator=generator),
        Linear(128, 10, generator=generator),
    )


class Run:
    """One training run. `epochs()` trains and yields; `save` writes what is there so far.

    Setting `stopped` ends it after the batch that is being trained, with the model in one piece.
    """

    def __init__(self, options: Options, folder: Path | str) -> None:
        options.check()
        self.options = options
        self.folder = Path(folder)
        self.generator = Generator(options.seed)
        self.model = classifier(self.generator)
        self.training, self.held_out = digits(seed=options.seed)
        self.optimizer = Adam(self.model.parameters(), lr=options.lr)
        self.batches = Batches(
            self.training.images,
            self.training.labels,
            batch_size=options.batch_size,
            shuffle=True,
            generator=self.generator,
        )
        self._step = compile(self._eager_step) if options.compiles else self._eager_step
        self.stopped = False
        self.history: list[Epoch] = []
        self.graph = ""

    def epochs(self, on_step: Callable[[Step], None]) -> Iterator[Epoch]:
        """Trains, calling `on_step` after each batch, and yields after each epoch.

        Raises ArgumentError when the loss is no longer finite.
        """
        for number in range(1, self.options.epochs + 1):
            means = self._train_epoch(number, on_step)
            if means is None:
                return
            loss, accuracy = means
            held_out_loss, held_out_accuracy = evaluate(self.model, self.held_out)
            epoch = Epoch(number, loss, accuracy, held_out_loss, held_out_accuracy)
            self.history.append(epoch)
            yield epoch

    def _train_epoch(
        self, number: int, on_step: Callable[[Step], None]
    ) -> tuple[float, float] | None:
        """(mean loss, accuracy) of the epoch; None when it was stopped on the way."""
        self.model.train()
        total, right, seen = 0.0, 0, 0
        for batch, (images, labels) in enumerate(self.batches, 1):
            if self.stopped:
                return None
            self.optimizer.lr = self._rate((number - 1) * len(self.batches) + batch - 1)
            loss, num_right = self._step(images, labels)
            value = loss.item()
            if not math.isfinite(value):
                raise ArgumentError(
                    f"training diverged: the loss is {value} in epoch {number}, batch {batch}, "
                    f"with learning rate {self.options.lr:g}",
                    hint="use a lower learning rate",
                )
            total += value * len(labels)
            right += num_right.item()
            seen += len(labels)
            on_step(Step(number, batch, len(labels), value, right / seen))
        return total / seen, right / seen

    def _eager_step(
        self, images: Tensor[Float], labels: Tensor[Int]
    ) -> tuple[Tensor[Float], Tensor[Int]]:
        """Loss of a batch, and how many were right, before the update of the model."""
        logits = self.model(images)
        loss = cross_entropy(logits, labels)
        if not self.graph:
            self.graph = str(loss.graph())
        self.optimizer.step(loss.backward())
        return loss.detach(), (logits.detach().argmax(axis=1) == labels).sum()

    def _rate(self, num_done: int) -> float:
        """The learning rate after that many batches: half a cosine, from `lr` down to almost 0."""
        num_batches = self.options.epochs * len(self.batches)
        return self.options.lr * (1 + math.cos(math.pi * num_done / num_batches)) / 2

    def save(self) -> None:
        """Writes model.safetensors, metrics.jsonl and graph.txt, each whole or not at all."""
        notes = {"model": "digits", "seed": str(self.options.seed)}
        save(self.folder / "model.safetensors", self.model, metadata=notes)
        metrics = [
            json.dumps({name: getattr(one, name) for name in Epoch.__annotations__}) + "\n"
            for one in self.history
        ]
        for name, text in (("metrics.jsonl", "".join(metrics)), ("graph.txt", self.graph + "\n")):
            with replacing(self.folder / name) as path:
                path.write_text(text, encoding="utf-8")


def evaluate(model: Sequential, part: Labelled) -> tuple[float, float]:
    """(mean loss, accuracy) of the model in evaluation mode."""
    model.eval()
    with no_grad():
        logits = model(part.images)
        loss = cross_entropy(logits, part.labels).item()
        right = (logits.argmax(axis=1) == part.labels).sum().item()
    return loss, right / len(part)


def predictions(model: Sequential, part: Labelled) -> Tensor[Float]:
    """The probabilities of the classes for each image."""
    model.eval()
    with no_grad():
        return model(part.images).softmax(axis=1)


def saved_seed(path: Path) -> int:
    """The seed of the run that saved the classifier: on another split it would know the answers."""
    text = load_metadata(path).get("seed", "0")
    if not (text.isascii() and text.isdigit() and len(text) < 11 and int(text) < 2**32):
        raise StateError(f"{path} does not hold the digits classifier: its seed is {text[:20]!r}")
    return int(text)


def load_classifier(path: Path) -> Sequential:
    """The classifier that a run saved; raises FileFormatError or StateError for another file."""
    model = classifier(Generator(0))
    try:
        load_module(path, model)
    except StateError as error:
        raise StateError(f"{path} does not hold the digits classifier: {error.message}") from None
    return model
