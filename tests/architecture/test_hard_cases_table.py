"""The table of hard cases says which test holds each of them, and is right."""

import ast
import re

import pytest

from tests.architecture.repository import ROOT

PAGE = (ROOT / "docs" / "hard-cases.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (?P<id>[A-Z]\d+) \| (?P<case>.+?) \| (?P<status>.+) \|$", re.MULTILINE)
NAMED = re.compile(r"`(?P<file>tests/[\w/]+\.py)::(?P<test>test_\w+)`")
ROWS = {match["id"]: match["status"] for match in ROW.finditer(PAGE)}


def functions_of(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_table_has_as_many_cases_as_it_says_each_once_and_in_order() -> None:
    count = re.search(r"There are (\d+) cases", PAGE)
    ids = [match["id"] for match in ROW.finditer(PAGE)]
    assert count is not None
    assert len(ids) == len(ROWS) == int(count[1])
    assert ids == sorted(ids, key=lambda one: (one[0], int(one[1:])))


@pytest.mark.parametrize("case", ROWS)
def test_case_waits_or_names_a_test_that_exists_and_carries_its_id(case: str) -> None:
    status = ROWS[case]
    named = list(NAMED.finditer(status))
    assert status.startswith("waits for ") != bool(named), f"{case}: {status}"
    for match in named:
        assert match["test"].endswith(f"_{case}")
        assert match["test"] in functions_of(match["file"]), f"{case}: no test {match['test']}"


def test_every_test_of_a_hard_case_carries_the_id_of_one() -> None:
    wrong = [
        f"{path.name}::{name}"
        for path in sorted((ROOT / "tests" / "hard_cases").glob("test_*.py"))
        for name in sorted(functions_of(str(path.relative_to(ROOT))))
        if name.startswith("test_")
        and ROWS.get(name.rpartition("_")[2], "waits").startswith("waits")
    ]
    assert not wrong, wrong
