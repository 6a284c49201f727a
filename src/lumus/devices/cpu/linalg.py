"""Linear algebra on the CPU: LAPACK through NumPy, and triangular systems by OpenBLAS."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lumus import _native
from lumus.core import kernels as k
from lumus.core.device import Run
from lumus.core.kernels.kernel import Kernel
from lumus.core.spec import Spec
from lumus.devices import host_linalg
from lumus.devices.cpu.blas import blas_library
from lumus.devices.host_linalg import Array

Specs = tuple[Spec, ...]


def _new(spec: Spec, array: Array) -> Any:
    data = _native.empty(spec.dtype.code, spec.shape)
    np.asarray(data)[...] = array
    return data


def _hosted(kernel: Kernel, inputs: Specs, outputs: Specs) -> Run:
    """A function of NumPy arrays on native ones."""
    function = host_linalg.TABLE[type(kernel)]
    if len(outputs) == 1:
        return lambda *data: _new(outputs[0], function(kernel, *map(np.asarray, data)))

    def run(*data: Any) -> tuple[Any, ...]:
        return tuple(map(_new, outputs, function(kernel, *map(np.asarray, data))))

    return run


# Triangular systems
# ----------------------------------------------------------------------------------------------

# How CBLAS numbers its choices.
_ROW_MAJOR, _LEFT = 101, 141
_AS_IT_IS, _TRANSPOSED = 111, 112
_UPPER, _LOWER = 121, 122
_READ_DIAGONAL, _UNIT_DIAGONAL = 131, 132


def _solve_triangular(kernel: k.SolveTriangular, inputs: Specs, outputs: Specs) -> Run:
    (spec,) = outputs
    num_matrices = math.prod(spec.shape[:-2])
    if num_matrices > spec.shape[-2]:
        # Row by row through all matrices at once: fewer steps than there are matrices.
        return lambda a, b: _new(
            spec, host_linalg.solve_triangular(kernel, np.asarray(a), np.asarray(b))
        )
    solve = _blas_solver(kernel, spec)

    def run(a_data: Any, b_data: Any) -> Any:
        a = np.asarray(a_data)
        host_linalg.check_diagonal(kernel, a)
        result = _new(spec, np.asarray(b_data))
        if not spec.size:
            return result
        x = np.asarray(result)
        if spec.ndim == a.ndim == 2:
            solve(a, x)
            return result
        batch = spec.shape[:-2]
        matrices = np.broadcast_to(a, (*batch, *a.shape[-2:]))
        for place in np.ndindex(batch):
            solve(matrices[place], x[place])
        return result

    return run


def _blas_solver(kernel: k.SolveTriangular, spec: Spec) -> Callable[[Array, Array], None]:
    """Overwrites the right sides x of one matrix a with the solutions."""
    single = spec.dtype.itemsize == 4
    trsm = blas_library()["scipy_cblas_strsm" if single else "scipy_cblas_dtrsm"]
    one = ctypes.c_float(1.0) if single else ctypes.c_double(1.0)
    diagonal = _UNIT_DIAGONAL if kernel.unit else _READ_DIAGONAL
    size, columns = spec.shape[-2:]
    address = ctypes.c_void_p

    def solve(a: Array, x: Array) -> None:
        lead, step = (stride // a.itemsize for stride in a.strides)
        if step != 1 and lead != 1:
            a = np.ascontiguousarray(a)
            lead, step = size, 1
        order, upper = _AS_IT_IS, kernel.upper
        if step != 1:  # the columns lie in memory: what is there is the transpose
            lead, order, upper = step, _TRANSPOSED, not upper
        trsm(
            _ROW_MAJOR, _LEFT, _UPPER if upper else _LOWER, order, diagonal, size, columns, one,
            address(a.ctypes.data), max(lead, size), address(x.ctypes.data), columns,
        )  # fmt: skip

    return solve


TABLE: dict[type[Kernel], Callable[[Any, Specs, Specs], Run]] = {
    **dict.fromkeys(host_linalg.TABLE, _hosted),
    k.SolveTriangular: _solve_triangular,
}
