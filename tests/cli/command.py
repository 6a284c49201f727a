"""The `lumus` command, run in a process of its own."""

import os
import subprocess
import sys

START = "import sys\nfrom lumus.cli.main import main\nsys.exit(main())\n"


def command(*arguments, before=""):
    """What to execute; `before` is Python that runs first."""
    return [sys.executable, "-c", before + "\n" + START, *map(str, arguments)]


def environment(**changes):
    """The environment without what would change the output, and with `changes`."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TERM", "LUMUS_NUM_THREADS"}
    }
    return {**kept, "TERM": "xterm-256color", **changes}


def run(*arguments, before="", folder=None, **changes):
    """The completed process, with its output as text."""
    return subprocess.run(
        command(*arguments, before=before),
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment(**changes),
        timeout=120,
        check=False,
    )
