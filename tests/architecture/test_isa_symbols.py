"""Kernel sources are compiled once for each instruction set, and the results stay apart.

The linker keeps one copy of a function that several objects define "weakly" (templates, inline
functions). If that copy is the AVX-512 one, the library dies on a processor without AVX-512. So a
kernel object may define weakly only what lives in its own namespace.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.architecture.repository import NATIVE, ROOT

KERNEL_SOURCES = sorted([*NATIVE.glob("kernels/*.cpp"), *NATIVE.glob("kernels/*.h")])
INCLUDE = re.compile(r"^\s*#\s*include\s*[<\"](?P<header>[^>\"]+)[>\"]", re.MULTILINE)
# Headers without functions that the compiler may leave out of line.
ALLOWED_STANDARD_HEADERS = {
    "arm_neon.h",
    "cfloat",
    "climits",
    "cstddef",
    "cstdint",
    "cstring",
    "immintrin.h",
    "limits",
    "type_traits",
}
# An object may outlive its source in a build folder; such a one is not linked any more.
KERNEL_OBJECTS = sorted(
    path
    for path in ROOT.glob("build/*/CMakeFiles/lumus_kernels_*.dir/native/kernels/*.o")
    if (NATIVE / "kernels" / path.stem).is_file() and "sanitize" not in path.parts
)
# In the listing of nm; weak data (V, u) holds no instructions and may be shared.
WEAK_FUNCTION = "W"


@pytest.mark.parametrize("path", KERNEL_SOURCES, ids=lambda path: path.name)
def test_kernel_source_includes_no_header_with_shared_functions(path: Path) -> None:
    headers = {match["header"] for match in INCLUDE.finditer(path.read_text(encoding="utf-8"))}
    foreign = {
        header for header in headers if "/" not in header and header not in ALLOWED_STANDARD_HEADERS
    }
    assert not foreign, f"{path.name} includes {sorted(foreign)}; see kernels/isa.h"


def instruction_set(path: Path) -> str:
    return next(
        part.removeprefix("lumus_kernels_").removesuffix(".dir")
        for part in path.parts
        if part.startswith("lumus_kernels_")
    )


def identity(path: Path) -> str:
    return f"{instruction_set(path)}-{path.stem}"


@pytest.mark.skipif(not KERNEL_OBJECTS, reason="no build folder: the package was not built here")
@pytest.mark.skipif(shutil.which("nm") is None, reason="no nm on this machine")
@pytest.mark.parametrize("path", KERNEL_OBJECTS, ids=identity)
def test_kernel_object_shares_no_function_with_another_instruction_set(path: Path) -> None:
    listing = subprocess.run(
        ["nm", "--demangle", "--defined-only", str(path)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    namespace = f"lumus::{instruction_set(path)}::"
    shared = []
    for line in listing.splitlines():
        _, kind, name = line.split(maxsplit=2)
        if kind == WEAK_FUNCTION and namespace not in name:
            shared.append(name)
    assert not shared, "also defined by the other instruction sets:\n" + "\n".join(shared)
