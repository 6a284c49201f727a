"""The process as a whole: threads, memory, and how the library was built."""

from __future__ import annotations

from typing import Any

from lumus import _native
from lumus.core.argument import flag
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


def flushes_denormal() -> bool:
    """Whether a result of arithmetic that is denormal becomes zero; see `set_flush_denormal`."""
    return _native.flushes_denormal()


def set_flush_denormal(flush: bool) -> None:
    """Sets whether a result of arithmetic that is denormal becomes zero.

    Denormal numbers are those below the smallest normal one: 1.2e-38 for float32 (and float16 and
    bfloat16, which are computed in float32), 2.2e-308 for float64. Many x86 processors take more
    than a hundred cycles for one, and trainings bring them forth by the thousand where moments
    decay and errors are learnt away: there a step can take three times as long. So they are flushed
    unless this says ``False``, which gives results as IEEE 754 and NumPy have them. Operands count
    as they are: a denormal number can be made, copied, compared and read.

    It holds for kernels on the CPU, in all threads, and leaves the arithmetic of NumPy and Python
    alone. A function that was compiled before keeps the constants that it has computed. Raises
    ArgumentError for ``True`` on a processor that is as fast with denormals (all but x86), where
    nothing is flushed.

    >>> import lumus as lm
    >>> small = lm.tensor(1e-30)
    >>> (small * 1e-9).item()
    0.0
    >>> lm.set_flush_denormal(False)
    >>> (small * 1e-9).item() > 0
    True
    >>> lm.set_flush_denormal(True)
    """
    wanted = flag("set_flush_denormal", "flush", flush)
    _native.set_flush_denormal(wanted)
    if _native.flushes_denormal() != wanted:
        raise ArgumentError("set_flush_denormal: this processor does not flush denormal numbers")


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
