"""Running the tests of a file again on the other instruction sets that the processor has."""

import os
import subprocess
import sys

import pytest

from lumus import _native

on_every_isa = pytest.mark.parametrize("isa", _native.available_isas())


def check_passes(isa: str, file: str, chosen: str) -> None:
    """The tests of `file` that the expression `chosen` selects pass in a process of that set."""
    if isa == _native.isa() or "LUMUS_ISA" in os.environ:
        pytest.skip("this process runs it, or was started for one instruction set")
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, file],
        env={**os.environ, "LUMUS_ISA": isa},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout[-3000:]
