"""Files that are there whole or not at all: written beside the target, then moved over it."""

from __future__ import annotations

import os
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
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{os.urandom(4).hex()}")
    # With the usual mode less the mask, and never over a file that exists.
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield temporary
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o777)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
