"""Forks, signals and the end of the process, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

START = """
import os, signal, sys, threading, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
import numpy as np
import lumus as lm

def work():
    x = lm.ones((300, 300))
    lm.random.normal((100_000,)).exp().sum()
    return (x @ x).sum().item() == 300.0**3
"""


def _run(program: str) -> str:
    """What a Python program prints; it must end well, and soon."""
    done = subprocess.run(
        [sys.executable, "-c", START + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def test_kernels_run_in_a_child_and_in_its_child_after_they_ran_in_the_parent() -> None:
    program = """
    work()
    child = os.fork()
    if not child:
        right = work()
        grandchild = os.fork()
        if not grandchild:
            os._exit(0 if work() else 1)
        os._exit(0 if right and os.waitpid(grandchild, 0)[1] == 0 else 1)
    print(os.waitpid(child, 0)[1], work())
    """
    assert _run(program) == "0 True"


@pytest.mark.parametrize(
    "busy", ["lm.random.normal((3,))", "work()", "zeros.add_(1.0)", "lm.from_numpy(np.zeros(3))"]
)
def test_a_fork_beside_busy_threads_leaves_the_child_no_taken_lock(busy: str) -> None:
    program = f"""
    sys.setswitchinterval(1e-6)
    zeros, stop = lm.zeros((100,)), False
    def keep_busy():
        while not stop:
            {busy}
    threads = [threading.Thread(target=keep_busy) for _ in range(3)]
    for thread in threads: thread.start()
    ended, end = [], time.monotonic() + 1.0
    while time.monotonic() < end:
        child = os.fork()
        if not child:
            signal.alarm(20)
            lm.random.normal((3,))
            lm.from_numpy(np.zeros(3)).add_(1.0)
            (lm.ones((200, 200)) @ lm.ones((200, 200))).sum()
            os._exit(0)
        ended.append(os.waitpid(child, 0)[1])
    stop = True
    for thread in threads: thread.join()
    print(set(ended))
    """
    assert _run(program) == "{0}"


def test_daemon_threads_in_kernels_do_not_end_the_process_badly() -> None:
    program = """
    def forever():
        while True:
            work()
    for _ in range(3):
        threading.Thread(target=forever, daemon=True).start()
    time.sleep(0.3)
    print("over")
    """
    for _ in range(3):
        assert _run(program) == "over"


def test_kernels_run_at_exit() -> None:
    assert _run("import atexit; atexit.register(lambda: print(work()))") == "True"


def test_an_interrupt_in_backward_leaves_recording_on_and_a_told_graph() -> None:
    # A process started in the background has interrupts ignored; here they are to arrive.
    program = """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    def interrupt(after):
        time.sleep(after)
        os.kill(os.getpid(), signal.SIGINT)
    outcomes = set()
    for turn in range(20):
        x = y = lm.ones((50, 50), requires_grad=True)
        for _ in range(200):
            y = (y * 1.0001).tanh()
        y = y.sum()
        thread = threading.Thread(target=interrupt, args=(0.0005 * turn,))
        try:
            thread.start()
            y.backward()
            thread.join()
            time.sleep(0.05)
        except KeyboardInterrupt:
            outcomes.add("interrupted")
        thread.join()
        assert lm.is_grad_enabled()
        try:
            y.backward()
        except lm.errors.GraphFreedError:
            pass
        x = lm.ones((3,), requires_grad=True)
        assert (x * x).sum().backward()[x].tolist() == [2.0, 2.0, 2.0]
    print(outcomes)
    """
    assert _run(program) == "{'interrupted'}"
