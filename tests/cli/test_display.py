"""The live bar in terminals of several widths, and what takes its place elsewhere."""

import io
import os
import re
import signal
import subprocess
import sys

import pytest
from rich.console import Console

from lumus.cli.display import follow, say
from lumus.train.digits import Options, Run
from tests.cli.command import command, environment

if sys.platform != "win32":
    import fcntl
    import pty
    import struct
    import termios

COLOR = re.compile(r"\x1b\[[\d;]*m")
CONTROL = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")


def followed(folder, columns, epochs=1, **options):
    """What `follow` writes to a terminal of that width."""
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=columns, **options)
    follow(Run(Options(epochs=epochs), folder), console)
    return file.getvalue()


def frames_of(text):
    lines = re.split(r"[\r\n]+", CONTROL.sub("", text))
    return [one for one in lines if one.startswith("epoch ")]


@pytest.mark.parametrize("columns", [40, 60, 70, 80, 120, 200])
def test_bar_fits_the_terminal_and_shows_what_there_is_room_for(columns, tmp_path):
    frames = frames_of(followed(tmp_path, columns))
    assert max(map(len, frames)) <= columns - 2
    assert not any("…" in frame for frame in frames)
    parts = [r"epoch 1/1 ━{4,40}", r"loss \d\.\d{4}", r"train \d+\.\d%"]
    if columns >= 60:
        parts.append(r"held out \d+\.\d%")
    if columns >= 70:
        parts.append(r"[\d,]+/s")
    if columns >= 80:
        parts.append(r"\d\d:\d\d")
    assert re.fullmatch(" ".join(parts), frames[-1].rstrip())


def test_bar_with_large_numbers_fits_eighty_columns(tmp_path):
    frames = frames_of(followed(tmp_path, 80, epochs=12))
    assert frames[-1].startswith("epoch 12/12 ━")
    assert max(map(len, frames)) <= 78


def test_bar_without_color_has_none(tmp_path, monkeypatch):
    assert COLOR.search(followed(tmp_path, 80))
    monkeypatch.setenv("NO_COLOR", "1")
    codes = COLOR.findall(followed(tmp_path, 80))
    # Bold, dim and their like may stay; colours are the codes from 30 on.
    assert not [one for code in codes for one in re.findall(r"\d+", code) if int(one) >= 30]


def test_terminal_without_cursor_control_gets_a_line_an_epoch(tmp_path, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    text = followed(tmp_path, 80, epochs=2)
    assert [line.split(":")[0] for line in text.splitlines()] == ["epoch 1/2", "epoch 2/2"]


def test_first_interrupt_stops_after_the_batch_and_the_second_at_once(tmp_path):
    run = Run(Options(epochs=5), tmp_path)
    before = signal.getsignal(signal.SIGINT)
    epochs = run.epochs

    def interrupted(on_step):
        yield next(epochs(on_step))
        signal.raise_signal(signal.SIGINT)
        assert run.stopped
        signal.raise_signal(signal.SIGINT)

    run.epochs = interrupted
    with pytest.raises(KeyboardInterrupt):
        follow(run, Console(file=io.StringIO()))
    assert signal.getsignal(signal.SIGINT) is before
    assert (tmp_path / "model.safetensors").exists()


@pytest.mark.parametrize("text", ["[red]x[/nothing] :smile:", "runs/\udcff", "x" * 300])
def test_say_prints_one_line_as_it_is(text):
    file = io.StringIO()
    say(Console(file=file, width=80), text)
    assert file.getvalue() == text.encode(errors="replace").decode() + "\n"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_train_digits_in_a_terminal_of_eighty_columns(tmp_path):
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    arguments = ("train", "digits", "--epochs", 2, "--output", tmp_path, "--no-pictures")
    process = subprocess.Popen(
        command(*arguments), stdin=child, stdout=child, stderr=child, env=environment()
    )
    os.close(child)
    written = b""
    while True:
        try:
            piece = os.read(parent, 65536)
        except OSError:  # Linux: the other end is closed
            break
        if not piece:
            break
        written += piece
    os.close(parent)
    assert process.wait(timeout=60) == 0
    frames = frames_of(written.decode())
    assert re.match(r"epoch 2/2 ━+ loss \d\.\d{4} train .* held out .*/s \d\d:\d\d", frames[-1])
    assert max(map(len, frames)) <= 78
