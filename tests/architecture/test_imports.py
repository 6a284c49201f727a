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
import json, sys, time
import numpy
before = set(sys.modules)
start = time.process_time()
import lumus
elapsed_s = time.process_time() - start
new = set(sys.modules) - before
print(json.dumps({"elapsed_s": elapsed_s, "new": sorted(new)}))
"""


def import_lumus_in_a_fresh_process() -> tuple[float, set[str]]:
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    report = json.loads(finished.stdout)
    return report["elapsed_s"], set(report["new"])


def test_import_loads_no_third_party_package_but_numpy() -> None:
    _, new_modules = import_lumus_in_a_fresh_process()
    top_level = {name.split(".")[0] for name in new_modules}
    third_party = top_level - set(sys.stdlib_module_names) - {"numpy", "lumus"}
    # A package installed editable brings a finder of its own.
    third_party = {name for name in third_party if not name.startswith(("_editable", "__editable"))}
    assert not third_party, f"loaded by `import lumus`: {sorted(third_party)}"
    assert not top_level & OPTIONAL_PACKAGES


def test_import_loads_no_slow_part_of_the_standard_library() -> None:
    _, new_modules = import_lumus_in_a_fresh_process()
    slow = new_modules & SLOW_STANDARD_MODULES
    assert not slow, f"loaded by `import lumus`, beyond what NumPy loads: {sorted(slow)}"
