"""Kernels as native steps, which a compiled program runs without Python."""

from __future__ import annotations

from lumus import _native
from lumus.core import kernels as k
from lumus.core.kernels.kernel import Kernel
from lumus.devices.cpu import (
    attention,
    convolution,
    embedding,
    lines,
    losses,
    normalization,
    placement,
    pooling,
    recurrent,
)
from lumus.devices.cpu.blas import ensure_blas
from lumus.devices.cpu.eager import Specs, StepMaker
from lumus.devices.cpu.program import native_program, native_reduction


def _elementwise(kernel: k.Elementwise, inputs: Specs, outputs: Specs) -> _native.Step:
    return native_program(kernel.expression, inputs, outputs).step()


def _reduce(kernel: k.Reduce, inputs: Specs, outputs: Specs) -> _native.Step:
    return native_reduction(kernel, inputs, outputs).step()


def _matmul(
    kernel: k.MatMul, inputs: Specs, outputs: Specs, epilogue: _native.Program | None = None
) -> _native.Step:
    ensure_blas()
    return _native.matmul_step(kernel.transposed, kernel.bias, epilogue)


def _with_epilogue(kernel: k.WithEpilogue, inputs: Specs, outputs: Specs) -> _native.Step:
    own, others = kernel.split(inputs)
    program = native_program(kernel.epilogue, (*outputs, *others), outputs)
    return _matmul(kernel.product, own, outputs, program)


def _random(kernel: k.Random, inputs: Specs, outputs: Specs) -> _native.Step:
    of_each = len(inputs) == 2
    if kernel.distribution == "bernoulli":
        return _native.bernoulli_each_step() if of_each else _native.bernoulli_step(kernel.low)
    if kernel.distribution == "gamma":
        return _native.gamma_each_step() if of_each else _native.gamma_step(kernel.low)
    if kernel.distribution == "integers":
        return _native.integers_step(int(kernel.low), int(kernel.high))
    return _native.random_step(kernel.distribution)


STEPS: dict[type[Kernel], StepMaker] = {
    **attention.STEPS,
    **convolution.STEPS,
    **embedding.STEPS,
    **lines.STEPS,
    **losses.STEPS,
    **normalization.STEPS,
    **placement.STEPS,
    **pooling.STEPS,
    **recurrent.STEPS,
    k.Arange: lambda kernel, i, o: _native.arange_step(kernel.start, kernel.step),
    k.ArgReduce: lambda kernel, i, o: _native.arg_reduce_step(kernel.kind, kernel.axis),
    k.Cast: lambda kernel, i, o: _native.cast_step(),
    k.Checked: lambda kernel, i, o: _native.check_step(),
    k.Concat: lambda kernel, i, o: _native.concat_step(len(i), kernel.axis),
    k.Copy: lambda kernel, i, o: _native.copy_step(),
    k.Distances: lambda kernel, i, o: _native.distances_step(kernel.p),
    k.Elementwise: _elementwise,
    k.Index: lambda kernel, i, o: _native.index_step(len(i) - 1),
    k.IndexPut: lambda kernel, i, o: _native.index_put_step(len(i) - 2, kernel.accumulate),
    k.LastWriter: lambda kernel, i, o: _native.last_writer_step(kernel.shape, len(i)),
    k.Linspace: lambda kernel, i, o: _native.linspace_step(kernel.start, kernel.stop),
    k.LogSumExp: lambda kernel, i, o: _native.logsumexp_step(kernel.axes),
    k.MatMul: _matmul,
    k.Norm: lambda kernel, i, o: _native.norm_step(kernel.p, kernel.axes),
    k.Random: _random,
    k.Reduce: _reduce,
    k.ScatterAdd: lambda kernel, i, o: _native.scatter_add_step(kernel.axis),
    k.SlicePut: lambda kernel, i, o: _native.slice_put_step(
        kernel.starts, kernel.sizes, kernel.steps
    ),
    k.Softmax: lambda kernel, i, o: _native.softmax_step(kernel.axis, kernel.log),
    k.SoftmaxGrad: lambda kernel, i, o: _native.softmax_grad_step(kernel.axis, kernel.log),
    k.TakeAlongAxis: lambda kernel, i, o: _native.take_along_axis_step(kernel.axis),
    k.Unslice: lambda kernel, i, o: _native.unslice_step(kernel.starts, kernel.steps),
    k.WithEpilogue: _with_epilogue,
}
