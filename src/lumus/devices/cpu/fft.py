"""Fourier transforms on the CPU, written straight into native memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lumus import _native
from lumus.core import kernels as k
from lumus.core.device import Run
from lumus.core.kernels.kernel import Kernel
from lumus.core.spec import Spec
from lumus.devices import host_fft

Specs = tuple[Spec, ...]


def _transform(kernel: Kernel, inputs: Specs, outputs: Specs) -> Run:
    function, (spec,) = host_fft.TABLE[type(kernel)], outputs
    is_complex = not isinstance(kernel, k.InverseRealFourier)

    def run(data: Any) -> Any:
        result = _native.empty(spec.dtype.code, spec.shape)
        if spec.size:
            array = np.asarray(result)
            out = host_fft.as_complex(array) if is_complex else array
            function(kernel, np.asarray(data), out=out)
        return result

    return run


TABLE: dict[type[Kernel], Callable[[Any, Specs, Specs], Run]] = dict.fromkeys(
    host_fft.TABLE, _transform
)
