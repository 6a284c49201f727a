"""The kernels along lines on the native ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lumus import _native
from lumus.core import line_kernels as k
from lumus.core.device import Run
from lumus.core.kernels import Kernel
from lumus.core.spec import Spec

Specs = tuple[Spec, ...]

TABLE: dict[type[Kernel], Callable[[Any, Specs, Specs], Run]] = {
    k.Argsort: lambda kernel, i, o: lambda x: _native.argsort(x, kernel.axis, kernel.descending),
    k.Recurrence: lambda kernel, i, o: (
        lambda a, b: _native.recurrence(a, b, kernel.axis, kernel.reverse)
    ),
    k.RunningExtreme: lambda kernel, i, o: (
        lambda x: _native.running_extreme(kernel.kind, x, kernel.axis)
    ),
    k.Scan: lambda kernel, i, o: (
        lambda x: _native.scan(kernel.kind, x, kernel.axis, kernel.reverse)
    ),
    k.SearchSorted: lambda kernel, i, o: (
        lambda x, values: _native.searchsorted(x, values, kernel.right)
    ),
    k.Sort: lambda kernel, i, o: lambda x: _native.sort(x, kernel.axis, kernel.descending),
    k.TopK: lambda kernel, i, o: lambda x: _native.topk(x, kernel.k, kernel.axis, kernel.largest),
}
