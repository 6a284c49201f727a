"""What must not stand in the project's files."""

import re
from pathlib import Path

from tests.architecture.repository import ROOT, text_files

EVERYWHERE = (
    "src",
    "native",
    "docs",
    "tests",
    "tools",
    "benchmarks",
    "examples",
    ".ci",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "CMakeLists.txt",
    "Makefile",
    "pyproject.toml",
)
# Paths of one machine: they are true nowhere else. `/home/you` in a manual is fine.
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|root|opt/wheels|tmp/(?:wt|dev|build))\b")
UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")


def matches(pattern: re.Pattern[str], path: Path) -> list[str]:
    if path == Path(__file__):
        return []
    lines = path.read_text(encoding="utf-8", errors="strict").splitlines()
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for number, line in enumerate(lines, start=1)
        if pattern.search(line)
    ]


def test_no_file_names_a_path_of_one_machine() -> None:
    found = [line for path in text_files(*EVERYWHERE) for line in matches(MACHINE_PATH, path)]
    assert not found, "\n".join(found)


def test_nothing_is_marked_as_unfinished() -> None:
    found = [
        line
        for path in text_files("src", "native", "docs", "tools", "benchmarks", "examples")
        for line in matches(UNFINISHED, path)
    ]
    assert not found, "\n".join(found)
