"""Strict type checkers accept right programs and report misuse at the line where it happens.

A line that must be reported ends in `# error: TEXT`; TEXT is part of both checkers' messages.
Each checker runs once, over all the programs.
"""

import functools
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import lumus

FOLDER = Path(__file__).resolve().parent
MARK = re.compile(r"#\s*error:\s*(?P<text>.*\S)\s*$")
# Messages by line of one file.
Messages = dict[int, str]


def programs(folder: str) -> list[Path]:
    return sorted((FOLDER / folder).glob("*.py"))


def folder_of_lumus() -> str | None:
    """Where the checkers find lumus; None when it is installed and they find it themselves."""
    assert lumus.__file__ is not None
    folder = Path(lumus.__file__).resolve().parents[1]
    return None if folder.name == "site-packages" else str(folder)


def add(reports: dict[Path, Messages], path: Path, line: int, message: str) -> None:
    messages = reports.setdefault(path, {})
    messages[line] = messages.get(line, "") + message + "\n"


@functools.cache
def mypy_reports() -> dict[Path, Messages]:
    environment = dict(os.environ)
    if (folder := folder_of_lumus()) is not None:
        environment["MYPYPATH"] = folder
    # Run from a folder without configuration: the programs are checked as a user's would be.
    with tempfile.TemporaryDirectory() as empty:
        finished = subprocess.run(
            [
                *[sys.executable, "-m", "mypy", "--strict", "--output=json", "--config-file="],
                *["--scripts-are-modules", "--cache-dir", os.devnull],
                *map(str, programs("must_pass") + programs("must_fail")),
            ],
            cwd=empty,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert finished.returncode in {0, 1}, finished.stdout + finished.stderr
        reports: dict[Path, Messages] = {}
        for line in finished.stdout.splitlines():
            report = json.loads(line)
            text = report["message"] + "\n" + (report["hint"] or "")
            add(reports, Path(empty, report["file"]).resolve(), report["line"], text)
    return reports


@functools.cache
def basedpyright_reports() -> dict[Path, Messages]:
    folder = folder_of_lumus()
    configuration = {
        "include": [str(FOLDER / "must_pass"), str(FOLDER / "must_fail")],
        "typeCheckingMode": "strict",
        "extraPaths": [] if folder is None else [folder],
        # An expression on a line of its own is how a program here states its case.
        "reportUnusedExpression": False,
        # After a reported line its type is unknown: one report is enough.
        "reportUnknownMemberType": False,
        "reportUnknownVariableType": False,
        "reportUnknownArgumentType": False,
    }
    with tempfile.TemporaryDirectory() as empty:
        project = Path(empty, "pyrightconfig.json")
        project.write_text(json.dumps(configuration), encoding="utf-8")
        finished = subprocess.run(
            [
                *[sys.executable, "-m", "basedpyright", "--outputjson"],
                *["--project", str(project), "--pythonpath", sys.executable],
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        assert finished.returncode in {0, 1}, finished.stdout + finished.stderr
    output = json.loads(finished.stdout)
    assert output["summary"]["filesAnalyzed"] == len(programs("must_pass") + programs("must_fail"))
    reports: dict[Path, Messages] = {}
    for report in output["generalDiagnostics"]:
        line = report["range"]["start"]["line"] + 1
        add(reports, Path(report["file"]).resolve(), line, report["message"])
    return reports


REPORTS = {"mypy": mypy_reports, "basedpyright": basedpyright_reports}


def described(path: Path, messages: Messages) -> str:
    return "".join(f"{path.name}:{line}: {text}" for line, text in sorted(messages.items()))


@pytest.mark.parametrize("checker", REPORTS)
@pytest.mark.parametrize("program", programs("must_pass"), ids=lambda path: path.stem)
def test_right_program_passes(program: Path, checker: str) -> None:
    messages = REPORTS[checker]().get(program, {})
    assert not messages, described(program, messages)


@pytest.mark.parametrize("checker", REPORTS)
@pytest.mark.parametrize("program", programs("must_fail"), ids=lambda path: path.stem)
def test_misuse_is_reported_where_it_happens(program: Path, checker: str) -> None:
    expected = {
        number: match["text"]
        for number, line in enumerate(program.read_text(encoding="utf-8").splitlines(), start=1)
        if (match := MARK.search(line))
    }
    assert expected, "the program marks no line as wrong"
    messages = REPORTS[checker]().get(program, {})
    assert set(messages) == set(expected), described(program, messages)
    silent = [line for line, text in expected.items() if text not in messages[line]]
    assert not silent, f"lines {silent} do not say it:\n" + described(program, messages)


@pytest.mark.parametrize("program", programs("must_pass"), ids=lambda path: path.stem)
def test_right_program_runs(program: Path) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    exec(compile(program.read_text(encoding="utf-8"), str(program), "exec"), names)


@pytest.mark.parametrize("program", programs("must_fail"), ids=lambda path: path.stem)
def test_misuse_raises_at_run_time_too(program: Path) -> None:
    """Each marked line, run after the unmarked ones above it, raises one of lumus's errors."""
    names: dict[str, object] = {"__name__": "__main__"}
    for line in program.read_text(encoding="utf-8").splitlines():
        if MARK.search(line):
            with pytest.raises((lumus.errors.LumusError, TypeError, AttributeError)):
                exec(line, names)
        else:
            exec(line, names)
