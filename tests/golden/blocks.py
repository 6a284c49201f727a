"""Golden files: pieces of a user's program, each with the text that it must print or raise.

    === a title
    the program
    ---
    what it prints, and the error that ends it

The program sees `lm`, `np`, `F` (lumus.nn.functional) and the current folder, which is empty. It is
known to call sites as `example.py`, its first line is line 1.
"""

import contextlib
import io
import linecache
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import lumus as lm

START, MIDDLE = "=== ", "---"
FILE = "example.py"


@dataclass(frozen=True)
class Block:
    title: str
    program: str
    expected: str

    def __str__(self) -> str:
        return f"{START}{self.title}\n{self.program}\n{MIDDLE}\n{self.expected}\n"


def read(path: Path) -> list[Block]:
    blocks = []
    for text in ("\n" + path.read_text(encoding="utf-8")).split(f"\n{START}")[1:]:
        title, _, rest = text.partition("\n")
        program, _, expected = rest.partition(f"\n{MIDDLE}\n")
        blocks.append(Block(title, program, expected.strip("\n")))
    return blocks


def write(path: Path, blocks: list[Block]) -> None:
    path.write_text("\n".join(map(str, blocks)), encoding="utf-8")


def run(program: str) -> str:
    """What the program prints, with the type and text of the error that ends it."""
    lines = [line + "\n" for line in program.splitlines()]
    linecache.cache[FILE] = (len(program), None, lines, FILE)
    names = {"lm": lm, "np": np, "F": lm.nn.functional, "Path": Path}
    printed = io.StringIO()
    error = ""
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(program, FILE, "exec"), names)
        except Exception as caught:
            error = f"{type(caught).__name__}: {caught}"
    return (printed.getvalue() + error).strip("\n")
