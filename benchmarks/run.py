"""Runs the cases and prints the table; see README.md."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.cases import CASES, Case

HERE = Path(__file__).resolve().parent


class Worker:
    """One library in a process of its own."""

    def __init__(self, library: str, python: str, threads: int) -> None:
        environment = dict(os.environ, LUMUS_NUM_THREADS=str(threads), OMP_NUM_THREADS=str(threads))
        environment["MKL_NUM_THREADS"] = str(threads)
        self.process = subprocess.Popen(
            [python, str(HERE / "worker.py"), library, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker ended: {self.process.args}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write('{"quit": true}\n')
        self.process.stdin.close()
        self.process.wait(20)


def measure(case: Case, pythons: dict[str, str], options: argparse.Namespace) -> dict[str, Any]:
    """Medians in seconds and peaks in MB for each library, measured in turn."""
    workers = {
        library: Worker(library, python, options.threads) for library, python in pythons.items()
    }
    results = {library: worker.ask(setup=case.name) for library, worker in workers.items()}
    numbers = [result["result"] for result in results.values()]
    bound = case.relative_error * max(abs(numbers[0]), 1e-6)
    if any(abs(number - numbers[0]) > bound for number in numbers):
        raise SystemExit(f"{case.name}: the libraries disagree: {numbers}")
    times: dict[str, list[float]] = {library: [] for library in workers}
    for round_number in range(options.rounds):
        order = list(workers) if round_number % 2 == 0 else list(reversed(workers))
        for library in order:
            time.sleep(0.05)  # lets the other's idle threads stop spinning
            times[library].append(workers[library].ask(time=options.seconds)["seconds"])
    row: dict[str, Any] = {"case": case.name, "what": case.what, "target": case.target}
    for library, worker in workers.items():
        row[library] = statistics.median(times[library]) / case.calls
        row[f"{library}_peak_mb"] = worker.ask(time=0.01)["peak_mb"]
        worker.stop()
    if "torch" in row:
        row["ratio"] = row["torch"] / row["lumus"]
    return row


def printed(row: dict[str, Any]) -> str:
    text = f"{row['what']:52s} {1e6 * row['lumus']:12.2f}"
    if "torch" in row:
        mark = "" if row["ratio"] >= row["target"] else "  below"
        text += f" {1e6 * row['torch']:12.2f} {row['ratio']:8.2f} {row['target']:7.1f}{mark}"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="names or beginnings of names; all by default")
    parser.add_argument("--torch", metavar="PYTHON", help="an interpreter that has PyTorch")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.2, help="of each measurement")
    options = parser.parse_args()
    pythons = {"lumus": sys.executable}
    if options.torch:
        pythons["torch"] = options.torch
    chosen = [
        case
        for case in CASES
        if not options.cases or any(case.name.startswith(name) for name in options.cases)
    ]
    head = f"{'microseconds':52s} {'lumus':>12s}"
    if options.torch:
        head += f" {'PyTorch':>12s} {'ratio':>8s} {'aim':>7s}"
    print(head)
    rows = []
    for case in chosen:
        rows.append(measure(case, pythons, options))
        print(printed(rows[-1]), flush=True)
    for row in rows:
        if row["case"].startswith("step_") and "torch" in row:
            part = row["lumus_peak_mb"] / row["torch_peak_mb"]
            print(
                f"peak memory, {row['what']}: {row['lumus_peak_mb']:.0f} MB, PyTorch "
                f"{row['torch_peak_mb']:.0f} MB, {part:.2f} of it (aim: at most 0.40)"
            )
    folder = HERE / "results"
    folder.mkdir(exist_ok=True)
    file = folder / f"{time.strftime('%Y%m%d-%H%M%S')}.json"
    file.write_text(json.dumps({"threads": options.threads, "rows": rows}, indent=1) + "\n")
    print(f"written to {file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file}")


if __name__ == "__main__":
    main()
