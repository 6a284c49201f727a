"""The commands: `lumus train digits`, `lumus evaluate`, `lumus info`."""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lumus import _native
from lumus.cli.display import follow, say
from lumus.core.device import DEVICES
from lumus.core.runtime import build_info, num_threads, set_num_threads
from lumus.data.digits import digits
from lumus.devices.cpu.blas import ensure_blas
from lumus.errors import ArgumentError
from lumus.train.digits import (
    DEFAULTS,
    Options,
    Run,
    evaluate,
    load_classifier,
    predictions,
    saved_seed,
)
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

LAST_SEED = 2**32 - 1


@train.command("digits")
def train_digits(
    epochs: Annotated[
        int, typer.Option(min=1, help="Passes over the training part.")
    ] = DEFAULTS.epochs,
    batch: Annotated[int, typer.Option(min=1, help="Scans in a batch.")] = DEFAULTS.batch_size,
    rate: Annotated[
        float, typer.Option(help="Learning rate of Adam at first; it falls.")
    ] = DEFAULTS.lr,
    seed: Annotated[
        int, typer.Option(min=0, max=LAST_SEED, help="Seed of split, weights, order and dropout.")
    ] = 0,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads; all processors by default.")
    ] = None,
    output: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("runs/digits"),
    pictures: Annotated[bool, typer.Option(help="Draw curves.png and predictions.png.")] = True,
    compiled: Annotated[
        bool,
        typer.Option("--compile/--no-compile", help="Run each step as one native call."),
    ] = True,
) -> int:
    """Train a classifier on 1,797 scans of handwritten digits, which are part of the package.

    Writes model.safetensors, metrics.jsonl, curves.png, predictions.png and graph.txt into the
    output folder. The same options write the same bits, whatever the number of threads. Ctrl-C
    stops after the current batch and keeps what was learnt.
    """
    options = Options(epochs, batch, rate, seed, compiled)
    options.check()
    if pictures and find_spec("matplotlib") is None:
        raise ArgumentError(
            "the pictures need the package matplotlib: pip install 'lumus[plot]'",
            hint="--no-pictures does without",
        )
    if threads is not None:
        set_num_threads(threads)
    _prepare(output)
    run = Run(options, output)
    say(
        _console,
        f"digits: {len(run.training)} scans to learn from, {len(run.held_out)} held out; "
        f"{_threads()}, {_native.isa()}, {'compiled' if options.compiles else 'not compiled'}",
    )
    follow(run, _console)
    is_whole = len(run.history) == epochs
    accuracy = (
        run.history[-1].held_out_accuracy if is_whole else evaluate(run.model, run.held_out)[1]
    )
    how = "done" if is_whole else f"interrupted in epoch {len(run.history) + 1} of {epochs}"
    say(_console, f"{how}: {accuracy:.1%} of the held-out digits right")
    names = ["model.safetensors", "metrics.jsonl", "graph.txt"]
    if pictures and run.history:
        names += _draw(run)
    say(_console, f"results in {output}: {', '.join(names)}")
    return 0 if is_whole else 130


def _threads() -> str:
    count = num_threads()
    return "1 thread" if count == 1 else f"{count} threads"


def _prepare(folder: Path) -> None:
    """Makes the folder and proves that it can be written, before any work is done."""
    if folder.exists() and not folder.is_dir():
        raise ArgumentError(f"{folder} is a file; the results need a folder")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(folder)) from None


def _draw(run: Run) -> list[str]:
    """Draws the pictures; returns the names of their files."""
    draw_curves(run.history, run.folder / "curves.png")
    probabilities = predictions(run.model, run.held_out)
    draw_predictions(run.held_out, probabilities, run.folder / "predictions.png")
    return ["curves.png", "predictions.png"]


@app.command("evaluate")
def evaluate_model(
    model: Annotated[Path, typer.Argument(help="A model.safetensors that `train digits` wrote.")],
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=LAST_SEED, help="Seed of the split; that of the run by default."),
    ] = None,
) -> int:
    """Measure a saved digits classifier on the held-out scans."""
    classifier = load_classifier(model)
    _, held_out = digits(seed=saved_seed(model) if seed is None else seed)
    loss, accuracy = evaluate(classifier, held_out)
    say(_console, f"{len(held_out)} held-out digits: loss {loss:.4f}, {accuracy:.1%} right")
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
        table.add_row(name, Text(_shown(value)))
    _console.print(table)
    return 0


def _shown(value: object) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{key} {one}" for key, one in value.items())
    return str(value)
