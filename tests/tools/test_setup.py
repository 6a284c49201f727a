"""What a newcomer meets before lumus is even built."""

import os
import subprocess
import sys
from pathlib import Path

from tests.architecture.repository import ROOT, pyproject


def check_machine(python: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(ROOT / "tools" / "check-machine"), python],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_missing_python_says_what_to_install(tmp_path: Path) -> None:
    finished = check_machine(str(tmp_path / "python3"))
    assert finished.returncode == 1
    assert "was not found" in finished.stderr
    assert "apt install python3 python3-venv python3-dev" in finished.stderr


def test_old_python_is_named_with_its_version(tmp_path: Path) -> None:
    old = script(tmp_path / "python3", '[ "$1" = --version ] && echo "Python 3.9.2"; exit 1')
    finished = check_machine(old)
    assert finished.returncode == 1
    assert "Python 3.11 or newer is needed" in finished.stderr
    assert "Python 3.9.2" in finished.stderr


def test_python_without_venv_names_the_package(tmp_path: Path) -> None:
    bare = script(
        tmp_path / "python3",
        f'case "$2" in *ensurepip*) exit 1 ;; esac; exec "{sys.executable}" "$@"',
    )
    finished = check_machine(bare)
    assert finished.returncode == 1
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert f"apt install python{version}-venv" in finished.stderr


def test_compiler_that_cannot_compile_is_named(tmp_path: Path) -> None:
    compiler = script(tmp_path / "g++", "exit 1")
    finished = check_machine(sys.executable, CXX=compiler)
    assert finished.returncode == 1
    assert f"'{compiler}' cannot compile C++20" in finished.stderr


def requirements(*groups: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "tools" / "requirements.py"), *groups],
        capture_output=True,
        text=True,
        check=False,
    )


def test_requirements_of_dev_hold_those_of_the_extras_it_names() -> None:
    extras = pyproject()["project"]["optional-dependencies"]
    lines = requirements("dev").stdout.splitlines()
    assert set(lines) == {*extras["cli"], *extras["plot"], *extras["test"], *extras["lint"]}


def test_requirements_of_an_unknown_group_names_the_known_ones() -> None:
    finished = requirements("deb")
    assert finished.returncode == 1
    assert "no group 'deb'" in finished.stderr
    assert "plot" in finished.stderr
