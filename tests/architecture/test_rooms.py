"""The rooms of src/lumus and the arrows between them."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.repository import (
    PACKAGE,
    ROOT,
    module_name,
    pyproject,
    source_files,
    syntax_tree,
)

# Not rooms: the public names, the compiled core and the marker that says "typed".
NOT_ROOMS = {"__init__", "_native", "py"}


def placed_rooms() -> set[str]:
    contracts = pyproject()["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["id"] == "rooms")
    return {room for layer in layers for room in re.findall(r"\w+", layer)}


def rooms() -> set[str]:
    found = set()
    for path in PACKAGE.iterdir():
        holds_code = path.is_dir() and any(path.rglob("*.py"))
        if holds_code or path.suffix in {".py", ".pyi"}:
            found.add(path.name.split(".")[0])
    return found - NOT_ROOMS - {"__pycache__"}


def test_every_room_is_placed_in_the_contract() -> None:
    unplaced = rooms() - placed_rooms()
    assert not unplaced, f"not in the contract `rooms` of pyproject.toml: {sorted(unplaced)}"


def test_arrows_between_rooms_point_down_only() -> None:
    program = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    finished = subprocess.run(
        [sys.executable, "-c", program, "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_every_folder_is_a_package() -> None:
    """Without an `__init__.py` the tools that follow imports pass a folder over in silence."""
    folders = {path.parent for path in source_files()}
    bare = [folder for folder in folders if not (folder / "__init__.py").is_file()]
    assert not bare, bare


def is_module(dotted: str) -> bool:
    place = PACKAGE.parent.joinpath(*dotted.split("."))
    if place.is_dir() or place.with_suffix(".py").is_file():
        return True
    return place.with_suffix(".pyi").is_file()


def is_package(dotted: str) -> bool:
    return PACKAGE.parent.joinpath(*dotted.split("."), "__init__.py").is_file()


@pytest.mark.parametrize("path", source_files(), ids=module_name)
def test_module_imports_defining_files_never_an_aggregate(path: Path) -> None:
    if path.name == "__init__.py":
        pytest.skip("an __init__ is where names are gathered")
    wrong = []
    for node in ast.walk(syntax_tree(path)):
        if isinstance(node, ast.Import):
            wrong += [
                f"line {node.lineno}: import {alias.name}"
                for alias in node.names
                if alias.name == "lumus"
            ]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "lumus":
            module = node.module or ""
            wrong += [
                f"line {node.lineno}: from {module} import {alias.name}"
                for alias in node.names
                if is_package(module) and not is_module(f"{module}.{alias.name}")
            ]
    assert not wrong, f"{path}: import the defining file instead\n" + "\n".join(wrong)


# What may be imported inside a function: packages that are optional or slow to load.
IMPORTED_LATE = {
    "google",
    "matplotlib",
    "onnx",
    "onnxruntime",
    "mpi4py",
    "rich",
    "safetensors",
    "scipy",
    "scipy_openblas32",
    "typer",
    "wgpu",
}


# The command says what to install when typer is missing, so what needs typer is imported after
# that.
OWN_IMPORTED_LATE = {"lumus.cli.app"}


@pytest.mark.parametrize("path", source_files(), ids=module_name)
def test_module_imports_nothing_of_its_own_inside_functions(path: Path) -> None:
    late = []
    for function in ast.walk(syntax_tree(path)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            else:
                continue
            late += [
                f"line {node.lineno}: {name}"
                for name in names
                if name.split(".")[0] not in IMPORTED_LATE and name not in OWN_IMPORTED_LATE
            ]
    assert not late, f"{path}: imports inside a function\n" + "\n".join(late)


def test_no_file_is_a_drawer_for_leftovers() -> None:
    drawers = {"utils", "util", "helpers", "helper", "common", "misc", "tools"}
    found = [path for path in PACKAGE.rglob("*") if path.stem in drawers]
    assert not found, f"name the file after what it holds: {found}"
