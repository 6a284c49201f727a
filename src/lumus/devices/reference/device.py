"""The reference device: every kernel in plain NumPy, slow and obviously right.

It is the oracle of the others. Memory and views are those of the CPU (native arrays), so that
what shares memory there shares it here; all computing is NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from lumus.core import kernels as k
from lumus.core.device import Run, register_device
from lumus.core.kernels.kernel import Kernel
from lumus.core.spec import Spec
from lumus.devices.host import HostDevice
from lumus.devices.host_check import check
from lumus.devices.reference import (
    attention,
    convolution,
    embedding,
    fft,
    linalg,
    lines,
    losses,
    movement,
    normalization,
    placement,
    pooling,
    random,
    recurrent,
    reductions,
)
from lumus.devices.reference.arrays import numbers, stored, write
from lumus.devices.reference.scalar import Array, evaluate

Specs = tuple[Spec, ...]
Compute = Callable[[Any, Sequence[Array], Any], Any]
"""A kernel on arrays of numbers: (kernel, inputs, spec) to the output's numbers.

Of several outputs: the specs to the numbers of each.
"""

VIEWS: dict[type[Kernel], Callable[[Any, Any], Any]] = {
    **placement.VIEWS,
    k.BroadcastTo: lambda kernel, x: x.broadcast(kernel.shape),
    k.Permute: lambda kernel, x: x.permute(kernel.axes),
    k.Reshape: lambda kernel, x: x.reshape(kernel.shape),
    k.Slice: lambda kernel, x: x.slice(kernel.starts, kernel.sizes, kernel.steps),
}

TABLE: dict[type[Kernel], Compute] = {
    **attention.TABLE,
    **convolution.TABLE,
    **embedding.TABLE,
    **fft.TABLE,
    **lines.TABLE,
    **losses.TABLE,
    **linalg.TABLE,
    **normalization.TABLE,
    **placement.TABLE,
    **pooling.TABLE,
    **recurrent.TABLE,
    k.Checked: lambda kernel, arrays, spec: check(kernel, *arrays),
    k.Arange: movement.arange,
    k.ArgReduce: reductions.arg_reduce,
    k.Cast: movement.copy,
    k.Concat: movement.concat,
    k.Copy: movement.copy,
    k.Distances: reductions.distances,
    k.Index: movement.index,
    k.IndexPut: movement.index_put,
    k.LastWriter: movement.last_writer,
    k.Linspace: movement.linspace,
    k.LogSumExp: reductions.logsumexp,
    k.MatMul: reductions.matmul,
    k.Norm: reductions.norm,
    k.Random: random.random,
    k.Reduce: reductions.reduce,
    k.ScatterAdd: movement.scatter_add,
    k.SlicePut: movement.slice_put,
    k.Softmax: reductions.softmax,
    k.SoftmaxGrad: reductions.softmax_grad,
    k.TakeAlongAxis: movement.take_along_axis,
    k.Unslice: movement.unslice,
}


def _computed(kernel: Kernel, arrays: list[Array], outputs: Specs) -> list[Array]:
    with np.errstate(all="ignore"):
        if isinstance(kernel, k.Elementwise):
            return evaluate(kernel.expression, arrays, [spec.dtype for spec in outputs])
        if isinstance(kernel, k.WithEpilogue):
            return _with_epilogue(kernel, arrays, outputs[0])
        if len(outputs) == 1:
            return [TABLE[type(kernel)](kernel, arrays, outputs[0])]
        return list(TABLE[type(kernel)](kernel, arrays, outputs))


def _with_epilogue(kernel: k.WithEpilogue, arrays: list[Array], output: Spec) -> list[Array]:
    """The epilogue of the product in its dtype: what a kernel alone would have stored."""
    own, others = kernel.split(arrays)
    product = stored(reductions.matmul(kernel.product, own, output), output)
    made = numbers(product, output)
    return evaluate(kernel.epilogue, [made, *others], [output.dtype])


class ReferenceDevice(HostDevice):
    """NumPy on the host's memory."""

    name = "reference"

    def prepare(self, kernel: Kernel, inputs: Specs, outputs: Specs) -> Run:
        if isinstance(kernel, k.Callback):
            return partial(kernel.run, outputs)
        view = VIEWS.get(type(kernel))
        if view is not None:
            return lambda x: view(kernel, x)
        if type(kernel) not in TABLE and not isinstance(kernel, k.Elementwise | k.WithEpilogue):
            raise self.unsupported(kernel, outputs[0].dtype.name)

        def run(*data: Any) -> Any:
            arrays = [numbers(one, spec) for one, spec in zip(data, inputs, strict=True)]
            results = _computed(kernel, arrays, outputs)
            made = [stored(one, spec) for one, spec in zip(results, outputs, strict=True)]
            return made[0] if len(made) == 1 else tuple(made)

        return run

    def prepare_into(self, kernel: Kernel, inputs: Specs, outputs: Specs) -> Run:
        run = self.prepare(kernel, inputs, outputs)

        def run_into(targets: Any, data: Any) -> None:
            made = run(*data)
            for target, spec, one in zip(
                targets, outputs, made if isinstance(made, tuple) else (made,), strict=True
            ):
                write(target, spec, numbers(one, spec))

        return run_into


REFERENCE = register_device(ReferenceDevice())
