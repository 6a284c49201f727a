"""Pictures of a run: the curves of training, and what the model makes of the held-out digits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.data.digits import Labelled
from lumus.io.atomic import replacing
from lumus.train.digits import Epoch

# The library's version would make the same picture another file.
_METADATA = {"Software": "lumus"}


def _figure(width: float, height: float, rows: int, columns: int) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns)


def _write(figure: Any, path: Path) -> None:
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120, metadata=_METADATA)


def draw_curves(history: Sequence[Epoch], path: Path) -> None:
    """Loss and accuracy by epoch, on the training and the held-out part."""
    figure, (left, right) = _figure(9, 3.6, 1, 2)
    numbers = [epoch.epoch for epoch in history]
    left.plot(numbers, [epoch.loss for epoch in history], label="training")
    left.plot(numbers, [epoch.held_out_loss for epoch in history], label="held out")
    left.set(xlabel="epoch", ylabel="cross-entropy", yscale="log", title="Loss")
    right.plot(numbers, [100 * epoch.accuracy for epoch in history], label="training")
    right.plot(numbers, [100 * epoch.held_out_accuracy for epoch in history], label="held out")
    right.set(xlabel="epoch", ylabel="correct (%)", title="Accuracy")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend()
    _write(figure, path)


def draw_predictions(part: Labelled, probabilities: Tensor[Float], path: Path) -> None:
    """The held-out digits of which the model is least sure; mistakes are marked in red."""
    chosen = probabilities.argmax(axis=1)
    labels = part.labels.tolist()
    guesses: list[int] = chosen.tolist()
    certainty: list[float] = probabilities.max(axis=1).tolist()
    # Mistakes first, then by how unsure the model was.
    order = sorted(
        range(len(labels)), key=lambda place: (guesses[place] == labels[place], certainty[place])
    )
    figure, grid = _figure(9, 4.6, 3, 8)
    for axes, place in zip(grid.flat, order, strict=False):
        axes.imshow(part.images[place].numpy(), cmap="gray_r", vmin=0, vmax=1)
        wrong = guesses[place] != labels[place]
        text = f"{guesses[place]} ({100 * certainty[place]:.0f} %)"
        axes.set_title(
            f"{text}, is {labels[place]}" if wrong else text,
            fontsize=8,
            color="crimson" if wrong else "black",
        )
    for axes in grid.flat:
        axes.set_axis_off()
    figure.suptitle("Held-out digits the model finds hardest, with its answer", fontsize=10)
    _write(figure, path)
