"""Programs whose instructions became machine code, and the same programs without it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lumus import _native
from tests.native.native_arrays import native, to_numpy
from tests.native.test_elementwise import make_program
from tests.native.test_elementwise_blocks import UNARY, same

IS_OFF = os.environ.get("LUMUS_MACHINE_CODE") == "0"
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
needs_machine_code = pytest.mark.skipif(
    sys.platform != "linux" or _native.isa() not in ("v3", "v4") or IS_OFF,
    reason="machine code is made on Linux with AVX2 or AVX-512",
)


def executable_pages() -> int:
    """Pages of this process that can be executed and are of no file."""
    total = 0
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        span, permissions, _, _, inode, *_ = line.split()
        if permissions == "r-xp" and inode == "0":
            begin, end = (int(one, 16) for one in span.split("-"))
            total += (end - begin) // os.sysconf("SC_PAGESIZE")
    return total


def chain():
    """x -> ((x * 0.5 + x) / x - 0.5) * x and so on: all simple."""
    opcodes = ("multiply", "add", "divide", "subtract") * 4
    instructions = [
        (opcode, "float32", (0 if at == 0 else 1 + at, at % 2)) for at, opcode in enumerate(opcodes)
    ]
    return make_program(["float32"], instructions, [len(instructions) + 1], [("float32", 0.5)])


def expected(x):
    half = np.float32(0.5)
    y = x
    for at in range(16):
        other = x if at % 2 == 0 else half
        y = (np.multiply, np.add, np.divide, np.subtract)[at % 4](y, other)
    return y


@pytest.mark.skipif(IS_OFF, reason="this process runs without it already")
def test_without_machine_code_the_bits_are_the_same():
    file = Path(__file__).with_name("test_elementwise_blocks.py")
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)],
        env={**os.environ, "LUMUS_MACHINE_CODE": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout[-3000:]


def test_a_chain_of_simple_instructions():
    program = chain()
    for length in range(1, 300, 7):
        x = np.linspace(0.5, 3.0, length, dtype=np.float32)
        assert np.array_equal(to_numpy(program.run([native(x)])), expected(x)), length


def function_values():
    """Each function of one argument, alone and negated, over all kinds of floats."""
    bits = np.random.default_rng(3).integers(0, 2**32, 300_000, dtype=np.uint64)
    edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 88.7, -103.9], np.float32)
    near = np.linspace(-12.0, 12.0, 100_003, dtype=np.float32)
    x = native(np.concatenate([bits.astype(np.uint32).view(np.float32), near, edges]))
    results = {}
    for opcode in UNARY:
        instructions = [(opcode, "float32", (0,)), ("negative", "float32", (1,))]
        alone = make_program(["float32"], instructions[:1], [1])
        both = make_program(["float32"], instructions, [1, 2])
        made = [alone.run([x]), *both.run_many([x])]
        for sort, result in zip(("alone", "first", "negated"), made, strict=True):
            results[f"{opcode}_{sort}"] = to_numpy(result)
    return results


WITHOUT = """
import sys
import numpy as np
from tests.native.test_machine_code import function_values
with np.errstate(all="ignore"):
    np.savez(sys.argv[1], **function_values())
"""


def test_functions_have_the_bits_of_their_kernels(tmp_path):
    file = tmp_path / "values.npz"
    finished = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(file)],
        env={**os.environ, "LUMUS_MACHINE_CODE": "0"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    expected = np.load(file)
    values = function_values()
    assert set(values) == set(expected)
    for name, value in values.items():
        assert same(value, expected[name]), name


@needs_machine_code
def test_its_memory_goes_with_the_program():
    before = executable_pages()
    program = chain()
    assert executable_pages() == before + 1
    del program
    assert executable_pages() == before


@needs_machine_code
def test_there_is_a_bound_beyond_which_programs_do_without():
    before = executable_pages()
    programs = [chain() for _ in range(8300)]
    assert executable_pages() <= before + 8192
    x = np.linspace(0.5, 3.0, 200, dtype=np.float32)
    for program in (programs[0], programs[-1]):
        assert np.array_equal(to_numpy(program.run([native(x)])), expected(x))


REFUSED = """
import ctypes, sys
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0) != 0:  # PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN
    sys.exit(77)
from tests.native.test_machine_code import chain, executable_pages, expected, native, to_numpy
import numpy as np
before = executable_pages()
program = chain()
assert executable_pages() == before
x = np.linspace(0.5, 3.0, 200, dtype=np.float32)
assert np.array_equal(to_numpy(program.run([native(x)])), expected(x))
"""


@needs_machine_code
def test_where_memory_may_not_become_executable_programs_do_without():
    root = Path(__file__).parents[2]
    finished = subprocess.run(
        [sys.executable, "-c", REFUSED], cwd=root, capture_output=True, text=True, check=False
    )
    if finished.returncode == 77:
        pytest.skip("this system cannot refuse it")
    assert finished.returncode == 0, finished.stderr
