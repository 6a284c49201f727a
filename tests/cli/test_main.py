"""The command as a user meets it: results, errors in one line, interruption, terminals."""

import json
import re
import signal
import subprocess
import sys

import pytest

import lumus as lm
from lumus.cli.main import main
from tests.cli.command import command, environment, run

FILES = {"model.safetensors", "metrics.jsonl", "graph.txt", "curves.png", "predictions.png"}


def contents(folder):
    return {one.name: one.read_bytes() for one in folder.iterdir()}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A short run with one thread, and what it printed into a pipe."""
    folder = tmp_path_factory.mktemp("cli")
    done = run(
        "train", "digits", "--epochs", 3, "--threads", 1, "--seed", 3, "--output", "first",
        folder=folder,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "first", done.stdout


# train digits -------------------------------------------------------------------------------------


def test_train_digits_into_a_pipe_prints_a_line_an_epoch(trained):
    _, text = trained
    lines = text.splitlines()
    assert lines[0].startswith("digits: 1438 scans to learn from, 359 held out; 1 thread, ")
    assert lines[0].endswith(", compiled")
    for number, line in enumerate(lines[1:4], 1):
        assert re.fullmatch(
            rf"epoch {number}/3: loss \d\.\d{{4}}, train \d\d\.\d%, held out \d\d\.\d%", line
        )
    assert re.fullmatch(r"done: 9\d\.\d% of the held-out digits right", lines[4])
    assert lines[5] == (
        "results in first: model.safetensors, metrics.jsonl, graph.txt, curves.png, predictions.png"
    )
    assert len(lines) == 6
    assert "\x1b" not in text


def test_train_digits_leaves_its_files_and_nothing_else(trained):
    folder, _ = trained
    assert set(contents(folder)) == FILES
    assert len((folder / "metrics.jsonl").read_text().splitlines()) == 3
    assert "digits.py:" in (folder / "graph.txt").read_text()
    modes = {one.stat().st_mode & 0o777 for one in folder.iterdir()}
    assert len(modes) == 1


def test_same_seed_with_other_threads_writes_the_same_bits_in_every_file(trained):
    folder, _ = trained
    done = run(
        "train", "digits", "--epochs", 3, "--threads", 2, "--seed", 3, "--output", "second",
        folder=folder.parent,
    )  # fmt: skip
    assert done.returncode == 0
    assert contents(folder.parent / "second") == contents(folder)


def test_evaluate_measures_on_the_split_of_the_run(trained, capsys):
    folder, text = trained
    assert main(["evaluate", str(folder / "model.safetensors")]) == 0
    own = capsys.readouterr().out
    assert re.fullmatch(r"359 held-out digits: loss \d\.\d{4}, \d\d\.\d% right\n", own)
    assert re.search(r"\d\d\.\d%", own)[0] == re.search(r"done: (\d\d\.\d%)", text)[1]
    last = json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])
    assert f"loss {last['held_out_loss']:.4f}" in own
    assert main(["evaluate", "--seed", "3", str(folder / "model.safetensors")]) == 0
    assert capsys.readouterr().out == own
    assert main(["evaluate", "--seed", "4", str(folder / "model.safetensors")]) == 0
    assert capsys.readouterr().out != own


def test_interrupt_leaves_a_checkpoint_that_evaluate_reads(tmp_path, capsys):
    process = subprocess.Popen(
        command("train", "digits", "--epochs", 1000, "--output", tmp_path, "--no-pictures"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(PYTHONUNBUFFERED="1"),
    )
    for line in process.stdout:
        if line.startswith("epoch 2/"):
            process.send_signal(signal.SIGINT)
            break
    output, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (130, "")
    told = re.search(r"interrupted in epoch (\d+) of 1000: (\d\d\.\d%)", output)
    assert told is not None
    assert set(contents(tmp_path)) == {"model.safetensors", "metrics.jsonl", "graph.txt"}
    metrics = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert len(metrics) == int(told[1]) - 1
    assert main(["evaluate", str(tmp_path / "model.safetensors")]) == 0
    assert told[2] in capsys.readouterr().out


def test_interrupt_before_training_ends_at_once(capsys, tmp_path, monkeypatch):
    def interrupt(folder):
        raise KeyboardInterrupt

    monkeypatch.setattr("lumus.cli.app._prepare", interrupt)
    assert main(["train", "digits", "--output", str(tmp_path / "new")]) == 130
    out, err = capsys.readouterr()
    # Some versions of typer turn the interrupt into the exit code themselves.
    assert (out, err.removesuffix("lumus: error: interrupted\n")) == ("", "")


# Errors: one line, an exit code, nothing written --------------------------------------------------


def fails(capsys, arguments, status, match, *, printed=""):
    assert main([str(one) for one in arguments]) == status
    out, err = capsys.readouterr()
    assert re.fullmatch(printed, out)
    assert re.fullmatch(rf"lumus: error: {match}\n", err), err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "value", "match"),
    [
        ("--epochs", "0", r".*'--epochs'.*1.* \(see: lumus train digits --help\)"),
        ("--epochs", "many", r".*'--epochs'.* \(see: lumus train digits --help\)"),
        ("--batch", "-1", r".*'--batch'.*"),
        ("--threads", "0", r".*'--threads'.*"),
        ("--seed", "-1", r".*'--seed'.*"),
        ("--seed", "4294967296", r".*'--seed'.*"),
        ("--speed", "1", r"No such option:? '?--speed'?.*"),
    ],
)
def test_bad_option_is_named(capsys, tmp_path, option, value, match):
    folder = tmp_path / "new"
    fails(capsys, ["train", "digits", "--output", folder, option, value], 2, match)
    assert not folder.exists()


@pytest.mark.parametrize("rate", ["0", "-1", "nan", "inf"])
def test_bad_rate_is_refused_before_anything_is_written(capsys, tmp_path, rate):
    folder = tmp_path / "new"
    match = "the learning rate must be positive and finite, got .*"
    fails(capsys, ["train", "digits", "--output", folder, "--rate", rate], 1, match)
    assert not folder.exists()


STARTED = r"digits: 1438 scans .*\n"


def test_rate_that_diverges_ends_with_one_line(capsys, tmp_path):
    match = "training diverged: .* epoch 1.*; hint: .*"
    arguments = ["train", "digits", "--rate", "1e30", "--output", tmp_path]
    fails(capsys, arguments, 1, match, printed=STARTED)
    assert contents(tmp_path) == {}


def test_result_whose_place_is_taken_by_a_folder_is_named(capsys, tmp_path):
    taken = tmp_path / "model.safetensors"
    taken.mkdir()
    arguments = ["train", "digits", "--epochs", 1, "--output", tmp_path, "--no-pictures"]
    match = f"{re.escape(str(taken))}: Is a directory"
    fails(capsys, arguments, 1, match, printed=STARTED + r"epoch 1/1: .*\n")
    assert list(tmp_path.iterdir()) == [taken]


@pytest.mark.parametrize(
    ("where", "match"),
    [
        ("file", "{} is a file; the results need a folder"),
        ("file/below", "{}: Not a directory"),
        ("file/below/further", "{}.*: Not a directory"),
    ],
)
def test_folder_that_cannot_be_written_is_named(capsys, tmp_path, where, match):
    (tmp_path / "file").write_text("")
    folder = tmp_path / where
    fails(capsys, ["train", "digits", "--output", folder], 1, match.format(re.escape(str(folder))))
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (None, "{}: No such file or directory"),
        (b"", "{} is no valid safetensors file: it has 0 bytes.*"),
        (b"half", "{} is no valid safetensors file: .*"),
        (
            b"version https://git-lfs.github.com/spec/v1\n",
            "{} is no valid .*; hint: .*`git lfs pull`",
        ),
        (b"\x02\0\0\0\0\0\0\0{}", "{} does not hold the digits classifier: .* missing: 1.weight.*"),
    ],
)
def test_damaged_model_file_is_named(capsys, tmp_path, content, match):
    path = tmp_path / "model.safetensors"
    if content is not None:
        path.write_bytes(content)
    fails(capsys, ["evaluate", path], 1, match.format(re.escape(str(path))))


def test_model_file_cut_anywhere_is_refused_in_one_line(capsys, tmp_path, trained):
    whole = (trained[0] / "model.safetensors").read_bytes()
    path = tmp_path / "cut"
    for size in (7, 8, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        fails(capsys, ["evaluate", path], 1, ".*cut is no valid safetensors file: .*")


def test_folder_in_place_of_a_model_file_is_named(capsys, tmp_path):
    fails(capsys, ["evaluate", tmp_path], 1, f"{re.escape(str(tmp_path))}: Is a directory")


@pytest.mark.parametrize("package", ["rich", "typer"])
def test_missing_command_line_package_is_named(capsys, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    match = rf"the lumus command needs the package {package}: pip install 'lumus\[cli\]'"
    fails(capsys, ["info"], 1, match)


def test_missing_matplotlib_is_named_before_training_and_can_be_done_without(
    capsys, monkeypatch, tmp_path
):
    monkeypatch.setattr("lumus.cli.app.find_spec", lambda name: None)
    arguments = ["train", "digits", "--epochs", "1", "--output", str(tmp_path / "new")]
    match = (
        r"the pictures need the package matplotlib: pip install 'lumus\[plot\]'; "
        "hint: --no-pictures does without"
    )
    fails(capsys, arguments, 1, match)
    assert not (tmp_path / "new").exists()
    assert main([*arguments, "--no-pictures"]) == 0
    assert set(contents(tmp_path / "new")) == FILES - {"curves.png", "predictions.png"}


def test_fault_of_our_own_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr("lumus.cli.app.build_info", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["info"])


# info, help ---------------------------------------------------------------------------------------


def test_info_tells_build_threads_and_devices(capsys):
    assert main(["info"]) == 0
    text = capsys.readouterr().out
    for name in ("isa", "compiled_isas", "threads", "blas", "devices"):
        assert re.search(rf"\b{name}\b", text)
    assert re.search(rf"threads\W+{lm.num_threads()}\b", text)
    assert "cpu, reference" in text


@pytest.mark.parametrize("arguments", [[], ["train"]])
def test_command_without_arguments_prints_its_help(capsys, arguments):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert "Usage: lumus" in out
    assert err == ""


def test_output_that_cannot_show_lines_and_boxes_is_plain():
    done = run("info", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()


def test_reader_that_goes_away_leaves_no_traceback(tmp_path):
    process = subprocess.Popen(
        command("info"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.close()
    error = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) != 0
    assert "Traceback" not in error
