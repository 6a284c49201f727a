"""`import lumus` loads NumPy and nothing else heavy."""

import json
import subprocess
import sys

OPTIONAL_PACKAGES = {
    "attrs",
    "attr",
    "matplotlib",
    "mpi4py",
    "onnx",
    "pydantic",
    "rich",
    "safetensors",
    "scipy",
    "scipy_openblas32",
    "typer",
    "wgpu",
}
# Parts of the standard library that take long to load; NumPy's own share is not ours to change.
SLOW_STANDARD_MODULES = {
    "argparse",
    "asyncio",
    "concurrent.futures.process",
    "doctest",
    "email",
    "http",
    "importlib.metadata",
    "logging",
    "multiprocessing",
    "sqlite3",
    "ssl",
    "subprocess",
    "tomllib",
    "unittest",
    "urllib.request",
    "xml",
}

PROGRAM = """
import json, sys
import numpy
before = set(sys.modules)
import lumus
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def modules_that_lumus_loads() -> set[str]:
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    return set(json.loads(finished.stdout))


def test_import_loads_no_third_party_package_but_numpy() -> None:
    new_modules = modules_that_lumus_loads()
    top_level = {name.split(".")[0] for name in new_modules}
    third_party = top_level - set(sys.stdlib_module_names) - {"numpy", "lumus"}
    # A package installed editable brings a finder of its own.
    third_party = {name for name in third_party if not name.startswith(("_editable", "__editable"))}
    assert not third_party, f"loaded by `import lumus`: {sorted(third_party)}"
    assert not top_level & OPTIONAL_PACKAGES


def test_import_loads_no_slow_part_of_the_standard_library() -> None:
    new_modules = modules_that_lumus_loads()
    slow = new_modules & SLOW_STANDARD_MODULES
    assert not slow, f"loaded by `import lumus`, beyond what NumPy loads: {sorted(slow)}"
