"""The kernels along lines on the native ones."""

from __future__ import annotations

from lumus import _native
from lumus.core import kernels as k
from lumus.core.kernels.kernel import Kernel
from lumus.devices.cpu.eager import Builder, StepMaker

TABLE: dict[type[Kernel], Builder] = {
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

STEPS: dict[type[Kernel], StepMaker] = {
    k.Argsort: lambda kernel, i, o: _native.argsort_step(kernel.axis, kernel.descending),
    k.Recurrence: lambda kernel, i, o: _native.recurrence_step(kernel.axis, kernel.reverse),
    k.RunningExtreme: lambda kernel, i, o: _native.running_extreme_step(kernel.kind, kernel.axis),
    k.Scan: lambda kernel, i, o: _native.scan_step(kernel.kind, kernel.axis, kernel.reverse),
    k.SearchSorted: lambda kernel, i, o: _native.searchsorted_step(kernel.right),
    k.Sort: lambda kernel, i, o: _native.sort_step(kernel.axis, kernel.descending),
    k.TopK: lambda kernel, i, o: _native.topk_step(kernel.axis, kernel.largest),
}
