"""The texts that users read: errors by family, and printed graphs.

`UPDATE_GOLDEN=1` rewrites them. A change of a text is a change of its golden file, to be read like
any other: it should say who raised it, what was expected, what came, and what to do.
"""

import dataclasses
import os
from pathlib import Path

import pytest

import lumus as lm
from tests.golden import blocks

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("*.txt"))
CASES = [
    pytest.param(path, number, id=f"{path.stem}: {block.title}")
    for path in FILES
    for number, block in enumerate(blocks.read(path))
]


@pytest.mark.parametrize(("path", "number"), CASES)
def test_text_is_that_of_the_golden_file(
    path: Path, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = blocks.read(path)[number]
    monkeypatch.chdir(tmp_path)
    got = blocks.run(block.program)
    if os.environ.get("UPDATE_GOLDEN"):
        known = blocks.read(path)
        known[number] = dataclasses.replace(block, expected=got)
        blocks.write(path, known)
    else:
        assert got == block.expected


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_titles_of_a_golden_file_are_unique(path: Path) -> None:
    titles = [block.title for block in blocks.read(path)]
    assert len(titles) == len(set(titles)) > 0


@pytest.mark.parametrize("path", sorted(FOLDER.glob("errors_*.txt")), ids=lambda path: path.stem)
def test_every_program_of_an_error_file_ends_in_a_lumus_error(path: Path) -> None:
    for block in blocks.read(path):
        kind = getattr(lm.errors, block.expected.partition(":")[0], None)
        assert isinstance(kind, type), f"{block.title}: {block.expected}"
        assert issubclass(kind, lm.errors.LumusError)
