"""The commands: `lumus train digits`, `lumus evaluate`, `lumus info`."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from lumus import _native
from lumus.core.device import DEVICES
from lumus.core.runtime import build_info, num_threads, set_num_threads
from lumus.data.digits import digits
from lumus.devices.cpu.blas import ensure_blas
from lumus.errors import ArgumentError
from lumus.train.digits import Options, Run, Step, evaluate, load_classifier, predictions
from lumus.train.pictures import draw_curves, draw_predictions

app = typer.Typer(
    name="lumus",
    help="Train and inspect small models; see what the library runs on.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
train = typer.Typer(help="Train a model on real data.", no_args_is_help=True)
app.add_typer(train, name="train")

_console = Console()


@train.command("digits")
def train_digits(
    epochs: Annotated[int, typer.Option(help="Passes over the training part.")] = 40,
    batch: Annotated[int, typer.Option(help="Scans in a batch.")] = 32,
    rate: Annotated[float, typer.Option(help="Learning rate of Adam.")] = 0.002,
    seed: Annotated[int, typer.Option(help="Seed of split, weights, order and dropout.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads; all processors by default.")] = None,
    output: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("runs/digits"),
) -> int:
    """Train a classifier on 1,797 real scans of handwritten digits (8x8 pixels, part of the
    package).

    Writes model.safetensors, metrics.jsonl, curves.png, predictions.png and graph.txt into the
    output folder. The same options write the same bits, whatever the number of threads. Ctrl-C
    stops after the current batch and keeps what was learnt.
    """
    if threads is not None:
        set_num_threads(threads)
    options = Options(epochs, batch, rate, seed)
    options.check()
    _prepare(output)
    run = Run(options, output)
    _console.print(
        f"digits: {len(run.training)} scans to learn from, {len(run.held_out)} held out; "
        f"{num_threads()} threads, {_native.isa()}"
    )
    interrupted = _train(run)
    if not run.history:
        run.save()
        _console.print(f"interrupted in the first epoch; model saved in {output}")
        return 130
    run.save()
    _draw(run)
    last = run.history[-1]
    _console.print(
        f"{'interrupted after' if interrupted else 'done:'} epoch {last.number}, "
        f"{100 * last.held_out_accuracy:.1f} % of the held-out digits right"
    )
    _console.print(
        f"results in {output}: " + ", ".join(sorted(one.name for one in output.iterdir()))
    )
    return 130 if interrupted else 0


def _prepare(folder: Path) -> None:
    """Makes the folder and proves that it can be written, before any work is done."""
    folder.mkdir(parents=True, exist_ok=True)
    probe = folder / ".lumus-probe"
    probe.touch()
    probe.unlink()


def _train(run: Run) -> bool:
    """Trains under a progress bar; True when the user interrupted."""
    columns = (
        SpinnerColumn(),
        TextColumn("epoch {task.fields[epoch]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.4f}"),
        TextColumn("right {task.fields[accuracy]:.1%}"),
        TextColumn("held out {task.fields[held_out]}"),
        TextColumn("{task.fields[rate]:,.0f} scans/s"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=_console) as progress:
        task = progress.add_task(
            "train",
            total=run.options.epochs * len(run.batches),
            epoch=1,
            loss=float("nan"),
            accuracy=0.0,
            held_out="-",
            rate=0.0,
        )
        seen = 0

        def on_step(step: Step) -> None:
            nonlocal seen
            seen += step.samples
            elapsed = progress.tasks[task].elapsed or 0.0
            progress.update(
                task,
                advance=1,
                epoch=step.epoch,
                loss=step.loss,
                accuracy=step.accuracy,
                rate=seen / elapsed if elapsed else 0.0,
            )

        try:
            for epoch in run.epochs(on_step):
                progress.update(task, held_out=f"{epoch.held_out_accuracy:.1%}")
                run.save()
        except KeyboardInterrupt:
            return True
    return False


def _draw(run: Run) -> None:
    if find_spec("matplotlib") is None:
        _console.print("no pictures: matplotlib is not installed (pip install 'lumus[plot]')")
        return
    draw_curves(run.history, run.folder / "curves.png")
    probabilities = predictions(run.model, run.held_out)
    draw_predictions(run.held_out, probabilities, run.folder / "predictions.png")


@app.command("evaluate")
def evaluate_model(
    model: Annotated[Path, typer.Argument(help="A model.safetensors that `train digits` wrote.")],
    seed: Annotated[int, typer.Option(help="Seed of the split that the run used.")] = 0,
) -> int:
    """Measure a saved digits classifier on the held-out scans."""
    if not 0 <= seed < 2**32:
        raise ArgumentError(f"the seed must be in [0, 2**32), got {seed}")
    classifier = load_classifier(model)
    _, held_out = digits(seed=seed)
    loss, accuracy = evaluate(classifier, held_out)
    _console.print(
        f"{len(held_out)} held-out digits: loss {loss:.4f}, {100 * accuracy:.1f} % right"
    )
    return 0


@app.command("info")
def info() -> int:
    """Show the build, the instruction set, the threads, the BLAS and the devices."""
    ensure_blas()
    table = Table(show_header=False)
    rows = {
        **build_info(),
        "threads": num_threads(),
        "blas": _native.blas_info() or "not needed: products run on the native kernels",
        "devices": ", ".join(DEVICES),
    }
    for name, value in rows.items():
        table.add_row(name, _shown(value))
    _console.print(table)
    return 0


def _shown(value: object) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{key} {one}" for key, one in value.items())
    return str(value)
