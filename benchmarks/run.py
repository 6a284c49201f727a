"""Runs the cases and prints the table; see README.md."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.cases import CASES, Case

HERE = Path(__file__).resolve().parent
STEPS_COMPARED = 5
THREADS = ("LUMUS", "OMP", "MKL", "OPENBLAS")

Row = dict[str, Any]


@dataclass(frozen=True)
class Peer:
    """A library in a variant; `library` names its module in `peers`."""

    title: str
    library: str
    variant: str


EAGER = {
    "lumus": Peer("lumus", "lumus", "eager"),
    "torch": Peer("PyTorch", "torch", "eager"),
    "numpy": Peer("NumPy", "numpy", "eager"),
}
COMPILED = {
    "lumus": Peer("lumus", "lumus", "compiled"),
    "lumus_eager": Peer("lumus, eager", "lumus", "eager"),
    "torch": Peer("PyTorch", "torch", "eager"),
    "torch_fused": Peer("PyTorch, fused optimiser", "torch", "fused"),
    "torch_compile": Peer("torch.compile", "torch", "compiled"),
    "jax": Peer("jax.jit", "jax", "compiled"),
    "numpy": Peer("NumPy", "numpy", "eager"),
}


def peers_of(case: Case, libraries: dict[str, str]) -> dict[str, Peer]:
    """Beside what a case is measured, of the libraries that there are."""
    absent = {name for name in ("numpy",) if name not in case.aims}
    if case.base == "adam":
        absent.add("torch_compile")  # the update is its fused optimiser's
    elif not case.is_step:
        absent.add("torch_fused")
    peers = COMPILED if case.is_compiled else EAGER
    return {
        name: peer
        for name, peer in peers.items()
        if peer.library in libraries and name not in absent
    }


class Worker:
    """One library in a process of its own."""

    def __init__(self, peer: Peer, python: str, threads: int, cache: str) -> None:
        environment = dict(os.environ, TORCHINDUCTOR_CACHE_DIR=cache)
        environment |= {f"{name}_NUM_THREADS": str(threads) for name in THREADS}
        self.process = subprocess.Popen(
            [python, str(HERE / "worker.py"), peer.library, peer.variant, str(threads)],
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


def measure(case: Case, pythons: dict[str, str], options: argparse.Namespace) -> Row:
    """For each peer: the median in seconds, what the first call took more, and the peak in MB.

    The peers take turns, in both directions. What they compute is compared before: of a training
    step, the loss after some.
    """
    peers = peers_of(case, pythons)
    with tempfile.TemporaryDirectory() as cache:  # nobody has compiled the case before
        workers = {
            name: Worker(peer, pythons[peer.library], options.threads, cache)
            for name, peer in peers.items()
        }
        for worker in workers.values():  # no import is under way while another is timed
            worker.ask(ready=True)
        calls = STEPS_COMPARED if case.is_step else 1
        setups = {name: one.ask(setup=case.base, calls=calls) for name, one in workers.items()}
        check_agreement(case, {name: setup["result"] for name, setup in setups.items()})
        times: dict[str, list[float]] = {name: [] for name in workers}
        for round_number in range(options.rounds):
            order = list(workers) if round_number % 2 == 0 else list(reversed(workers))
            for name in order:
                time.sleep(0.05)  # lets the other's idle threads stop spinning
                times[name].append(workers[name].ask(time=options.seconds)["seconds"])
        peaks = {name: worker.ask(time=0.01)["peak_mb"] for name, worker in workers.items()}
        for worker in workers.values():
            worker.stop()
    medians = {name: statistics.median(each) for name, each in times.items()}
    return {
        "case": case.name,
        "seconds": {name: median / case.calls for name, median in medians.items()},
        "first_s": {name: max(0.0, setups[name]["first"] - medians[name]) for name in medians},
        "peak_mb": peaks,
    }


def check_agreement(case: Case, numbers: dict[str, float]) -> None:
    expected = numbers["lumus"]
    bound = case.relative_error * max(abs(expected), 1e-6)
    if any(abs(number - expected) > bound for number in numbers.values()):
        raise SystemExit(f"{case.name}: the libraries disagree: {numbers}")


def printed(case: Case, row: Row) -> str:
    """A line of an eager case; of a compiled one a line for each peer."""
    seconds = row["seconds"]
    if case.is_compiled:
        lines = [case.what] + [_peer_line(case, row, name) for name in seconds]
        return "\n".join(lines)
    text = f"{case.what:52s} {1e6 * seconds['lumus']:12.2f}"
    if "torch" in seconds:
        text += f" {1e6 * seconds['torch']:12.2f} {_ratio(case, row, 'torch')}"
    if "numpy" in seconds:
        text += f"\n{'    NumPy':52s} {'':12s} {1e6 * seconds['numpy']:12.2f} "
        text += _ratio(case, row, "numpy")
    return text


def _ratio(case: Case, row: Row, name: str) -> str:
    ratio, aim = row["seconds"][name] / row["seconds"]["lumus"], case.aims[name]
    return f"{ratio:8.2f} {aim:7.1f}" + ("" if ratio >= aim else "  below")


def _peer_line(case: Case, row: Row, name: str) -> str:
    ratio = row["seconds"][name] / row["seconds"]["lumus"]
    text = (
        f"    {COMPILED[name].title:48s} {1e6 * row['seconds'][name]:12.2f} {ratio:8.2f}"
        f"   first call + {row['first_s'][name]:7.3f} s, peak {row['peak_mb'][name]:5.0f} MB"
    )
    if name in case.aims:
        text += f", aim {case.aims[name]:.1f}" + ("" if ratio >= case.aims[name] else "  below")
    return text


def peak_line(case: Case, row: Row) -> str:
    own, torch = row["peak_mb"]["lumus"], row["peak_mb"]["torch"]
    return (
        f"peak memory, {case.what}: {own:.0f} MB, PyTorch {torch:.0f} MB, "
        f"{own / torch:.2f} of it (aim: at most 0.40)"
    )


def asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="names or beginnings of names; all by default")
    parser.add_argument("--torch", metavar="PYTHON", help="an interpreter that has PyTorch")
    parser.add_argument("--jax", metavar="PYTHON", help="one that has JAX; for compiled cases")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.2, help="of each measurement")
    return parser.parse_args()


def main() -> None:
    options = asked()
    pythons = {"lumus": sys.executable, "numpy": sys.executable}
    pythons |= {name: getattr(options, name) for name in ("torch", "jax") if getattr(options, name)}
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
        print(printed(case, rows[-1]), flush=True)
    for case, row in zip(chosen, rows, strict=True):
        if case.is_step and "torch" in row["peak_mb"]:
            print(peak_line(case, row))
    folder = HERE / "results"
    folder.mkdir(exist_ok=True)
    file = folder / f"{time.strftime('%Y%m%d-%H%M%S')}.json"
    file.write_text(json.dumps({"threads": options.threads, "rows": rows}, indent=1) + "\n")
    print(f"written to {file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file}")


if __name__ == "__main__":
    main()
