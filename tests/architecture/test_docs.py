"""The examples of the documentation run, and its links lead somewhere."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

from tests.architecture.repository import (
    ROOT,
    markdown_files,
    module_name,
    source_files,
)

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^```python[^\n]*\n(?P<code>.*?)^```\s*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")

# This page makes a new operation; test_add_an_op.py runs it where that can be done.
RUN_ELSEWHERE = {"docs/add-an-op.md"}


def identity(path: Path) -> str:
    return str(path.relative_to(ROOT))


def run_examples(test: doctest.DocTest) -> str:
    """Run the examples of one text and return what went wrong."""
    report: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    return "".join(report)


@pytest.mark.parametrize(
    "path", [path for path in markdown_files() if identity(path) not in RUN_ELSEWHERE], ids=identity
)
def test_examples_of_a_page_run(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fenced blocks that begin with `>>>` are run, sharing their names; others must be Python."""
    monkeypatch.chdir(tmp_path)
    text = path.read_text(encoding="utf-8")
    names: dict[str, object] = {}
    problems = []
    for match in FENCE.finditer(text):
        code, line = match["code"], text.count("\n", 0, match.start()) + 1
        if code.lstrip().startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(code, names, path.name, str(path), line)
            # The parser copies the names it is given: put them back, so that blocks share them.
            test.globs = names
            runner = doctest.DocTestRunner(optionflags=FLAGS)
            runner.run(test, out=problems.append, clear_globs=False)
        else:
            compile(code, f"{path}:{line}", "exec")
    assert not problems, "".join(problems)


@pytest.mark.parametrize("path", source_files(), ids=module_name)
def test_examples_of_a_module_run(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if path.name == "__main__.py":
        pytest.skip("importing it would run the command")
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(module_name(path))
    tests = doctest.DocTestFinder(exclude_empty=True).find(module)
    problems = "".join(run_examples(test) for test in tests if test.examples)
    assert not problems, problems


@pytest.mark.parametrize("path", markdown_files(), ids=identity)
def test_links_of_a_page_lead_to_files_that_exist(path: Path) -> None:
    broken = []
    prose = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for match in LINK.finditer(prose):
        target = match["target"].split("#")[0]
        if target and not re.match(r"[a-z]+:", target) and not (path.parent / target).exists():
            broken.append(match["target"])
    assert not broken, f"{identity(path)}: {broken}"
