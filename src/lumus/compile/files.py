"""Saved programs as files: the text of the program, and its weights beside it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lumus.compile.distrust import Checker
from lumus.compile.passes.verify import verify
from lumus.core.construct import new_tensor
from lumus.core.device import Device
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError, FileFormatError
from lumus.io.atomic import replacing
from lumus.io.tensors import PathLike, load, save
from lumus.trace.text.reader import Draft
from lumus.trace.text.saved import SavedProgram, weight_names
from lumus.trace.text.writer import saved_text

SUFFIX = ".safetensors"


def weights_beside(path: PathLike) -> Path:
    """Where the weights of a program lie: at its path, with this suffix behind."""
    return Path(f"{os.fspath(path)}{SUFFIX}")


def write_program(path: PathLike, saved: SavedProgram) -> None:
    """Writes the text of a program, and its weights if it has any; each whole or not at all.

    Raises TraceError for what a file cannot hold, before anything is written.
    """
    if os.fspath(path).endswith(SUFFIX):
        raise ArgumentError(
            f"save: {os.fspath(path)} is a name for the weights, which are written beside the "
            "program",
            hint="name the program without it, for example digits.lumus",
        )
    text, tensors = saved_text(saved, None), _tensors(saved)
    with replacing(path) as program_file:
        if not tensors:
            program_file.write_text(text, encoding="ascii", newline="\n")
            return
        with replacing(weights_beside(path)) as weights_file:
            save(weights_file, tensors)
            text = saved_text(saved, _digest(weights_file))
            program_file.write_text(text, encoding="ascii", newline="\n")


def _tensors(saved: SavedProgram) -> dict[str, Tensor[Any]]:
    program = saved.program
    data = {capture.var: capture.data for capture in program.captures}
    return {name: new_tensor(data[var], var.spec) for var, name in weight_names(program).items()}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_program(path: PathLike, weights: PathLike | None, device: Device) -> SavedProgram:
    """The program in a file, with the weights beside it, or others of the same names and specs.

    Everything that the files say is checked. Raises FileFormatError, which names the line.
    """
    draft = Draft(_text(path), os.fspath(path), device, Checker())
    tensors = _read(draft, weights, device)
    saved = draft.finished({name: one.data for name, one in tensors.items()})
    try:
        verify(saved.program)
    except AssertionError as error:
        raise FileFormatError(f"{draft.path} is no valid saved program: {error}") from None
    return saved


def _text(path: PathLike) -> str:
    try:
        return Path(path).read_bytes().decode("ascii")
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"{os.fspath(path)} is no valid saved program: byte {error.start} is no text",
            hint="it is the file of the program that is loaded; its weights lie beside it",
            path=os.fspath(path),
        ) from None


def _read(draft: Draft, given: PathLike | None, device: Device) -> Mapping[str, Tensor[Any]]:
    """The weights that a program wants."""
    if not draft.weights:
        if given is not None:
            raise ArgumentError(f"load_program: {draft.path} has no weights, but some were given")
        return {}
    path = weights_beside(draft.path) if given is None else Path(given)
    if given is None and _digest(path) != draft.digest:
        raise FileFormatError(
            f"{path} does not hold the weights that {draft.path} was saved with",
            hint="if it is to run with them nevertheless, name the file: weights=...",
            path=str(path),
        )
    tensors = load(path, names=list(draft.weights), device=device)
    for name, spec in draft.weights.items():
        if tensors[name].spec is not spec:
            raise FileFormatError(
                f"{path}: {name!r} is {tensors[name].spec!r}, the program {draft.path} wants "
                f"{spec!r}",
                path=str(path),
            )
    return tensors
