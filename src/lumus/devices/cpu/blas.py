"""Finds OpenBLAS (the `scipy-openblas32` package), and loads it where products need it.

With AVX2 or AVX-512 every product runs on the native kernels (decision 0006), and it is loaded for
triangular systems alone.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from pathlib import Path

from lumus import _native

_LIBRARY = {"darwin": "libscipy_openblas.dylib", "win32": "libscipy_openblas.dll"}
_loaded = False
_library: ctypes.CDLL | None = None


def ensure_blas() -> None:
    """Loads the library once, with one thread of its own: products are split by lumus's pool."""
    global _loaded
    if not _loaded and _native.needs_blas():
        _native.load_blas(str(blas_path()))
        _loaded = True


def blas_library() -> ctypes.CDLL:
    """The library itself, for routines that need no native code of their own.

    Calls release the interpreter lock.
    """
    global _library
    if _library is None:
        path = str(blas_path())
        _native.load_blas(path)
        _library = ctypes.CDLL(path)
    return _library


def blas_path() -> Path:
    """Where the shared library lies; found without importing its package."""
    found = importlib.util.find_spec("scipy_openblas32")
    if found is None or found.origin is None:
        raise ImportError(
            "lumus needs the package scipy-openblas32, which is not installed\n"
            "hint: pip install scipy-openblas32"
        )
    name = _LIBRARY.get(sys.platform, "libscipy_openblas.so")
    return Path(found.origin).parent / "lib" / name
