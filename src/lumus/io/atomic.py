"""Files that are there whole or not at all: written beside the target, then moved over it."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Generator[Path, None, None]:
    """Gives the path of a temporary file beside the target; moves it over the target at the end.

    When the block raises, or the process dies, the old file is intact. The bytes are on the disk
    before the move. A symbolic link keeps pointing where it does: what it points at is replaced. A
    file that was there keeps its permissions, a new one gets the usual ones.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    temporary = target.with_name(f".{target.name[:100]}.{os.getpid()}-{os.urandom(4).hex()}")
    try:
        # With the usual mode less the mask, and never over a file that exists.
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        mode = (target if target.exists() else temporary).stat().st_mode & 0o7777
    except OSError as error:
        # The temporary name would mean nothing to the caller.
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        yield temporary
        temporary.chmod(mode)  # the block may have put another file in its place
        _to_disk(temporary)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    with suppress(OSError):  # not every file system can; the file itself is safe by now
        _to_disk(target.parent)


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
