"""The process as a whole: threads, memory, and how the library was built."""

from __future__ import annotations

from typing import Any

from lumus import _native
from lumus.core.broadcast import integer
from lumus.errors import ArgumentError

MAX_THREADS = 1024


def num_threads() -> int:
    """How many threads kernels may use, the calling one included."""
    return _native.num_threads()


def set_num_threads(count: int) -> None:
    """Sets how many threads kernels may use. Results do not depend on it, to the bit.

    The default is the environment variable ``LUMUS_NUM_THREADS``, else the number of processors
    that the process may use. Raises ArgumentError for a count below 1 or above 1024.

    >>> import lumus as lm
    >>> lm.set_num_threads(lm.num_threads())
    """
    threads = integer("set_num_threads", "count", count)
    if not 1 <= threads <= MAX_THREADS:
        raise ArgumentError(f"set_num_threads: needs 1 to {MAX_THREADS}, got {threads}")
    _native.set_num_threads(threads)


def memory_stats() -> dict[str, int]:
    """Bytes of tensors alive (``live_bytes``), their peak, bytes kept for reuse, and counts.

    >>> import lumus as lm
    >>> sorted(lm.memory_stats())
    ['cached_bytes', 'live_bytes', 'live_storages', 'num_allocations', 'peak_bytes']
    """
    return dict(_native.memory_stats())  # type: ignore[arg-type]


def reset_peak_memory_stats() -> None:
    """Lets the peak of `memory_stats` begin anew at what is alive now, to measure a part alone.

    >>> import lumus as lm
    >>> lm.reset_peak_memory_stats()
    >>> stats = lm.memory_stats()
    >>> stats["peak_bytes"] == stats["live_bytes"]
    True
    """
    _native.reset_peak()


def empty_cache() -> None:
    """Gives the memory that is kept for reuse back to the system."""
    _native.empty_cache()


def build_info() -> dict[str, Any]:
    """The compiler, the instruction sets in the binary, and the one in use.

    >>> import lumus as lm
    >>> "isa" in lm.build_info()
    True
    """
    return dict(_native.build_info())
