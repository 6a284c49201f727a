"""Writes docs/operations.md: every public function, operation and layer, with the page of each.

    python tools/list_operations.py

An operation's page is its source file: what it computes, its derivative and its documentation
stand there in this order. Needs an installed lumus; a test holds that the list is current.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "operations.md"

HEAD = """# Operations

Every public function and layer, by the namespace it is called from. The link leads to its page: its
file with its documentation, derivative and record; `help(lumus.softmax)` shows the same text.
Names of other libraries: [coming from PyTorch](coming-from-pytorch.md); what became of the two that
lumus descends from: [ancestors](ancestors.md). Written by `tools/list_operations.py`.
"""

NAMESPACES: tuple[tuple[str, str], ...] = (
    ("lumus", "Tensors in, tensors out"),
    ("lumus.linalg", "Linear algebra"),
    ("lumus.fft", "Fourier transforms"),
    ("lumus.random", "Random numbers"),
    ("lumus.nn.functional", "The functions behind layers and losses"),
    ("lumus.nn", "Layers and losses as modules"),
    ("lumus.nn.init", "Initial values of parameters"),
    ("lumus.optim", "Optimisers"),
    ("lumus.data", "Data and batches"),
    ("lumus.io", "Files"),
    ("lumus.inspect", "Looking at values and graphs"),
    ("lumus.testing", "Checks of operations"),
    ("lumus.errors", "What is raised"),
)


def page() -> str:
    """The text of the page."""
    parts = [HEAD]
    for name, title in NAMESPACES:
        namespace = importlib.import_module(name)
        parts += [f"\n## `{name}`: {title.lower()}\n"]
        for family, rows in _families(namespace):
            parts += [f"\n### {family}\n"] if name in ("lumus", "lumus.nn.functional") else []
            parts += ["\n| name | what it does |\n| --- | --- |\n", *rows]
    return "".join(parts)


def _families(namespace: ModuleType) -> Iterator[tuple[str, list[str]]]:
    """(family, rows) in order; the family is the folder that holds the file."""
    families: dict[str, list[str]] = {}
    for name in sorted(_public_names(namespace), key=str.lower):
        value = getattr(namespace, name)
        if not (inspect.isfunction(value) or inspect.isclass(value)):
            continue
        module = value.__module__
        link = f"../src/{module.replace('.', '/')}.py"
        summary = (inspect.getdoc(value) or "").partition("\n\n")[0].replace("\n", " ")
        row = f"| [`{name}`]({link}) | {summary.replace('|', chr(92) + '|')} |\n"
        families.setdefault(module.split(".")[-2], []).append(row)
    yield from sorted(families.items())


def _public_names(namespace: ModuleType) -> list[str]:
    """Those that it declares, or else what its file defines."""
    declared: list[str] | None = getattr(namespace, "__all__", None)
    if declared is not None:
        return declared
    return [
        name
        for name, value in vars(namespace).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == namespace.__name__
    ]


def main() -> None:
    """Writes the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
