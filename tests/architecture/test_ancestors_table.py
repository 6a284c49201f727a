"""Each row of the ancestors names what exists here and a test that exists."""

import re

import pytest

import lumus
from tests.architecture.repository import ROOT
from tests.architecture.test_hard_cases_table import NAMED, functions_of
from tests.conformance.table import SPECS

PAGE = (ROOT / "docs" / "ancestors.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (?P<row>[^|]+?) \| (?P<here>[^|]+?) \| (?P<test>[^|]+?) \|$", re.MULTILINE)
NAME = re.compile(r"`lumus\.(?P<name>[\w.]+)`")
SPEC = re.compile(r"spec ([\w.]+)")
ROWS = {match["row"]: match for match in ROW.finditer(PAGE) if match["row"] not in ("row", "---")}


@pytest.mark.parametrize("row", ROWS)
def test_row_names_what_exists_and_the_tests_that_hold_it(row: str) -> None:
    for name in NAME.findall(ROWS[row]["here"]):
        found: object = lumus
        for part in name.split("."):
            found = getattr(found, part)
    held_by = ROWS[row]["test"]
    tests, specs = list(NAMED.finditer(held_by)), SPEC.findall(held_by)
    assert tests or specs
    for match in tests:
        assert match["test"] in functions_of(match["file"])
    missing = set(specs) - {spec.name for spec in SPECS}
    assert not missing


def test_both_ancestors_are_there() -> None:
    assert len(ROWS) > 40
