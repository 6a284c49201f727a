"""Files that are there whole or not at all: written beside the target, then moved over it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Gives the path of a temporary file in the target's folder; moves it over the target at the end.

    When the block raises, or the process dies, the old file is intact. The bytes are on the disk before
    the move.
    """
    target = Path(path)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        _make_like(target, temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _make_like(target: Path, temporary: Path) -> None:
    """Temporary files are private; the result gets the old file's mode, or the usual one."""
    if target.exists():
        temporary.chmod(target.stat().st_mode & 0o777)
        return
    mask = os.umask(0)
    os.umask(mask)
    temporary.chmod(0o666 & ~mask)
