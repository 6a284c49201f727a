"""Where things are in the repository, for the tests of its architecture."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "lumus"
NATIVE = ROOT / "native"


def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def source_files() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)


def module_name(path: Path) -> str:
    parts = ["lumus", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def syntax_tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def markdown_files() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def text_files(*roots: str) -> Iterator[Path]:
    """Every file under the given files and folders that is text and not made by a tool."""
    suffixes = {".py", ".pyi", ".cpp", ".h", ".md", ".toml", ".txt", ".sh", ".wgsl", ".json", ""}
    for root in roots:
        start = ROOT / root
        candidates = [start] if start.is_file() else sorted(start.rglob("*"))
        for path in candidates:
            made_by_a_tool = any(
                part == "__pycache__" or part.endswith("_cache") or part == "results"
                for part in path.parts
            )
            if path.is_file() and path.suffix in suffixes and not made_by_a_tool:
                yield path
