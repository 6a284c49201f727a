"""One process, one library: sets up a case and times it when asked, over lines of JSON.

{"ready": true}    {"setup": "softmax", "calls": 1}    {"time": 0.2}    {"quit": true}

The result that is compared is that of the last of `calls`; the first of them is timed alone.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.cases import inputs


def peak_megabytes() -> float:
    """The most memory that the process has held."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return float("nan")


def calls_within(call: Any, finish: Any, seconds: float) -> tuple[int, float]:
    """How many calls fill the time, and the time that they took, the last result read."""
    begin = time.perf_counter()
    finish(call())
    single = max(time.perf_counter() - begin, 1e-7)
    count = max(1, int(seconds / single))
    begin = time.perf_counter()
    for _ in range(count):
        result = call()
    finish(result)
    return count, time.perf_counter() - begin


def main(library: str, variant: str, threads: int) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not break the protocol
    module = importlib.import_module(f"benchmarks.peers.{library}_cases")
    module.start(threads)
    call: Any = None
    finish: Any = None
    for line in sys.stdin:
        request = json.loads(line)
        reply: dict[str, Any] = {}
        if "quit" in request:
            break
        if "setup" in request:
            call, finish = module.make(request["setup"], inputs(request["setup"]), variant)
            begin = time.perf_counter()
            result = finish(call())
            reply["first"] = time.perf_counter() - begin
            for _ in range(1, request["calls"]):
                result = finish(call())
            reply["result"] = result
            calls_within(call, finish, 0.05)
        elif "time" in request:
            count, seconds = calls_within(call, finish, request["time"])
            reply["seconds"] = seconds / count
        reply["peak_mb"] = peak_megabytes()
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
