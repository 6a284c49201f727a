"""Where the `lumus` command begins.

It turns every expected failure into one line and an exit code.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from lumus.errors import LumusError


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns 0, 1 for a failure, 2 for a wrong call, 130 when interrupted."""
    try:
        return _run(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        return _fail("interrupted", 130)


def _run(arguments: list[str]) -> int:
    try:
        import rich  # noqa: F401
        import typer
    except ImportError as error:
        return _fail(f"the lumus command needs the package {error.name}: pip install 'lumus[cli]'")
    from lumus.cli.app import app

    command = typer.main.get_command(app)
    try:
        status = command.main(arguments, prog_name="lumus", standalone_mode=False)
    except Exception as error:
        return _explained(error)
    return status if isinstance(status, int) else 0


def _explained(error: Exception) -> int:
    """One line for what a user can cause.

    Anything else is a fault of ours and keeps its traceback.
    """
    name = type(error).__name__
    if name == "NoArgsIsHelpError":  # the help has been printed
        return 2
    if name == "Abort":
        return _fail("interrupted", 130)
    format_message = getattr(error, "format_message", None)
    if format_message is not None:  # a wrong option or argument
        context = getattr(error, "ctx", None)
        where = f" (see: {context.command_path} --help)" if context is not None else ""
        return _fail(" ".join(str(format_message()).split()) + where, 2)
    if isinstance(error, LumusError):
        return _fail("; ".join(str(error).splitlines()))
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return _fail(f"{place}{error.strerror or error}")
    raise error


def _fail(message: str, status: int = 1) -> int:
    print(f"lumus: error: {message}", file=sys.stderr)
    return status
