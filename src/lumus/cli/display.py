"""What the user sees while a run trains: a live bar, or a line an epoch where there is no terminal.

Ctrl-C stops the run after the batch that is being trained; a second one does not wait.
"""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn

from lumus.train.digits import Epoch, Run, Step

# What stands beside the bar, with its usual width and the least width of the terminal for it.
_COLUMNS = (
    (TextColumn("loss {task.fields[loss]:.4f}"), 11, 0),
    (TextColumn("train {task.fields[accuracy]:.1%}"), 12, 0),
    (TextColumn("held out {task.fields[held_out]}"), 14, 60),
    (TextColumn("{task.fields[rate]:,.0f}/s"), 8, 70),
    (TimeRemainingColumn(compact=True), 5, 78),
)


def follow(run: Run, console: Console) -> None:
    """Trains the run, and saves it after each epoch and at the end."""
    with _stopped_by_interrupt(run):
        if console.is_interactive:
            _live(run, console)
        else:
            for epoch in run.epochs(lambda step: None):
                say(console, _line(epoch, run.options.epochs))
                run.save()
        run.save()


def say(console: Console, text: str) -> None:
    """Prints a line as it is: unwrapped, and with brackets and odd file names left alone."""
    plain = text.encode(errors="replace").decode()
    console.print(plain, soft_wrap=True, markup=False, emoji=False)


def _line(epoch: Epoch, num_epochs: int) -> str:
    return (
        f"epoch {epoch.epoch}/{num_epochs}: loss {epoch.loss:.4f}, "
        f"train {epoch.accuracy:.1%}, held out {epoch.held_out_accuracy:.1%}"
    )


def _live(run: Run, console: Console) -> None:
    with Progress(*_columns(console.width), console=console) as progress:
        task = progress.add_task(
            "train",
            total=run.options.epochs * len(run.batches),
            epoch=1,
            epochs=run.options.epochs,
            loss=float("nan"),
            accuracy=0.0,
            held_out="-",
            rate=0.0,
        )
        num_seen = 0

        def on_step(step: Step) -> None:
            nonlocal num_seen
            num_seen += step.samples
            elapsed = progress.tasks[task].elapsed or 0.0
            progress.update(
                task,
                advance=1,
                epoch=step.epoch,
                loss=step.loss,
                accuracy=step.accuracy,
                rate=num_seen / elapsed if elapsed else 0.0,
            )

        for epoch in run.epochs(on_step):
            progress.update(task, held_out=f"{epoch.held_out_accuracy:.1%}")
            run.save()


def _columns(width: int) -> list[ProgressColumn]:
    beside = [(column, taken) for column, taken, least in _COLUMNS if width >= least]
    # Each column is followed by a space; the last two columns are left to the echo of Ctrl-C, which
    # would begin a new line otherwise.
    room = width - 2 - len("epoch 10/40 ") - sum(taken + 1 for _, taken in beside)
    return [
        TextColumn("epoch {task.fields[epoch]}/{task.fields[epochs]}"),
        BarColumn(bar_width=max(4, min(room, 40))),
        *(column for column, _ in beside),
    ]


@contextmanager
def _stopped_by_interrupt(run: Run) -> Generator[None, None, None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        if run.stopped:
            raise KeyboardInterrupt
        run.stopped = True

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
