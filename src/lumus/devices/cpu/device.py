"""The CPU device: the kernel vocabulary on the native kernels."""

from __future__ import annotations

from functools import partial
from typing import Any

from lumus import _native
from lumus.core import kernels as k
from lumus.core.device import Run, register_device
from lumus.core.dtypes import float64
from lumus.core.kernels.kernel import Kernel
from lumus.devices.cpu import (
    attention,
    convolution,
    embedding,
    fft,
    linalg,
    lines,
    losses,
    normalization,
    placement,
    pooling,
    recurrent,
)
from lumus.devices.cpu.blas import ensure_blas
from lumus.devices.cpu.eager import Builder, Specs, eager
from lumus.devices.cpu.program import native_program, native_reduction
from lumus.devices.cpu.steps import STEPS
from lumus.devices.host import HostDevice
from lumus.devices.host_check import check


def _elementwise(kernel: k.Elementwise, inputs: Specs, outputs: Specs) -> Run:
    program = native_program(kernel.expression, inputs, outputs)
    if len(outputs) > 1:
        return lambda *data: program.run_many(list(data))
    by_count: dict[int, Run] = {1: program.run1, 2: program.run2, 3: program.run3}
    return by_count.get(len(inputs)) or (lambda *data: program.run(list(data)))


def _reduce(kernel: k.Reduce, inputs: Specs, outputs: Specs) -> Run:
    reduction = native_reduction(kernel, inputs, outputs)
    return reduction.run1 if len(inputs) == 1 else (lambda *data: reduction.run(list(data)))


def _random(kernel: k.Random, inputs: Specs, outputs: Specs) -> Run:
    code, shape = kernel.dtype.code, kernel.shape
    if kernel.distribution == "uniform":
        return lambda key: _native.random_uniform(key, code, shape)
    if kernel.distribution == "normal":
        return lambda key: _native.random_normal(key, code, shape)
    if kernel.distribution == "exponential":
        return lambda key: _native.random_exponential(key, code, shape)
    if kernel.distribution == "gamma":
        return _random_gamma(kernel, len(inputs) == 2)
    if kernel.distribution == "bernoulli":
        if len(inputs) == 2:
            return lambda key, each: _native.random_bernoulli_each(key, each, shape)
        return lambda key: _native.random_bernoulli(key, kernel.low, shape)
    low, high = int(kernel.low), int(kernel.high)
    return lambda key: _native.random_integers(key, low, high, code, shape)


def _random_gamma(kernel: k.Random, of_each: bool) -> Run:
    code, shape = kernel.dtype.code, kernel.shape
    if of_each:
        return lambda key, each: _native.random_gamma(key, each, code, shape)
    concentration = _native.full(float64.code, (1,), kernel.low)
    return lambda key: _native.random_gamma(key, concentration, code, shape)


def _matmul(kernel: k.MatMul, inputs: Specs, outputs: Specs) -> Run:
    ensure_blas()
    product: Run = _native.matmul_bias if kernel.bias else _native.matmul
    plain = product
    if kernel.transposed:
        rank = inputs[1].ndim
        axes = (*range(rank - 2), rank - 1, rank - 2)

        def transposed_product(x: Any, y: Any, *bias: Any) -> Any:
            return plain(x, y.permute(axes), *bias)

        product = transposed_product
    if all(spec.dtype is outputs[0].dtype for spec in inputs):
        return product
    code = outputs[0].dtype.code
    return lambda *data: product(*[_native.cast(one, code) for one in data])


def _softmax(kernel: k.Softmax, inputs: Specs, outputs: Specs) -> Run:
    run = _native.log_softmax if kernel.log else _native.softmax
    return lambda x: run(x, kernel.axis)


def _softmax_grad(kernel: k.SoftmaxGrad, inputs: Specs, outputs: Specs) -> Run:
    run = _native.log_softmax_grad if kernel.log else _native.softmax_grad
    return lambda grad, y: run(grad, y, kernel.axis)


TABLE: dict[type[Kernel], Builder] = {
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
    k.Arange: lambda kernel, i, o: (
        lambda: _native.arange(kernel.dtype.code, kernel.start, kernel.step, kernel.count)
    ),
    k.ArgReduce: lambda kernel, i, o: (
        lambda x: _native.arg_reduce(kernel.kind, x, kernel.axis, kernel.keepdims)
    ),
    k.BroadcastTo: lambda kernel, i, o: lambda x: x.broadcast(kernel.shape),
    k.Callback: lambda kernel, i, o: partial(kernel.run, o),
    k.Cast: lambda kernel, i, o: lambda x: _native.cast(x, kernel.dtype.code),
    k.Concat: lambda kernel, i, o: lambda *data: _native.concat(list(data), kernel.axis),
    k.Checked: lambda kernel, i, o: lambda value, holds: check(kernel, value, holds),
    k.Copy: lambda kernel, i, o: _native.copy,
    k.Distances: lambda kernel, i, o: lambda x, y: _native.distances(x, y, kernel.p),
    k.Elementwise: _elementwise,
    k.Index: lambda kernel, i, o: lambda x, *indices: _native.index(x, list(indices)),
    k.IndexPut: lambda kernel, i, o: (
        lambda x, values, *indices: _native.index_put(x, list(indices), values, kernel.accumulate)
    ),
    k.LastWriter: lambda kernel, i, o: (
        lambda *indices: _native.last_writer(kernel.shape, list(indices))
    ),
    k.Linspace: lambda kernel, i, o: (
        lambda: _native.linspace(kernel.dtype.code, kernel.start, kernel.stop, kernel.count)
    ),
    k.LogSumExp: lambda kernel, i, o: lambda x: _native.logsumexp(x, kernel.axes, kernel.keepdims),
    k.MatMul: _matmul,
    k.Norm: lambda kernel, i, o: lambda x: _native.norm(x, kernel.p, kernel.axes, kernel.keepdims),
    k.Permute: lambda kernel, i, o: lambda x: x.permute(kernel.axes),
    k.Random: _random,
    k.Reduce: _reduce,
    k.Reshape: lambda kernel, i, o: lambda x: x.reshape(kernel.shape),
    k.ScatterAdd: lambda kernel, i, o: (
        lambda x, indices, values: _native.scatter_add(x, indices, values, kernel.axis)
    ),
    k.Slice: lambda kernel, i, o: lambda x: x.slice(kernel.starts, kernel.sizes, kernel.steps),
    k.SlicePut: eager(STEPS[k.SlicePut]),
    k.Softmax: _softmax,
    k.SoftmaxGrad: _softmax_grad,
    k.Unslice: eager(STEPS[k.Unslice]),
    k.WithEpilogue: eager(STEPS[k.WithEpilogue]),
    k.TakeAlongAxis: lambda kernel, i, o: (
        lambda x, indices: _native.take_along_axis(x, indices, kernel.axis)
    ),
}


def _elementwise_into(kernel: k.Elementwise, inputs: Specs, outputs: Specs) -> Run:
    return native_program(kernel.expression, inputs, outputs).run_into


def _index_put_into(kernel: k.IndexPut, inputs: Specs, outputs: Specs) -> Run:
    def run(targets: Any, data: Any) -> None:
        _native.index_put_into(targets[0], data[2:], data[1], kernel.accumulate)

    return run


def _copy_into(kernel: k.Copy, inputs: Specs, outputs: Specs) -> Run:
    return lambda targets, data: _native.copy_into(targets[0], data[0])


TABLE_INTO: dict[type[Kernel], Builder] = {
    k.Copy: _copy_into,
    k.Elementwise: _elementwise_into,
    k.IndexPut: _index_put_into,
}


class CpuDevice(HostDevice):
    """The native kernels, on the threads of the pool."""

    name = "cpu"

    def prepare(self, kernel: Kernel, inputs: Specs, outputs: Specs) -> Run:
        builder = TABLE.get(type(kernel))
        if builder is None:
            raise self.unsupported(kernel, outputs[0].dtype.name)
        return builder(kernel, inputs, outputs)

    def prepare_into(self, kernel: Kernel, inputs: Specs, outputs: Specs) -> Run:
        builder = TABLE_INTO.get(type(kernel))
        if builder is not None:
            return builder(kernel, inputs, outputs)
        run = self.prepare(kernel, inputs, outputs)

        def run_and_copy(targets: Any, data: Any) -> None:
            _native.copy_into(targets[0], run(*data))

        return run_and_copy

    def prepare_step(self, kernel: Kernel, inputs: Specs, outputs: Specs) -> _native.Step | None:
        maker = STEPS.get(type(kernel))
        return None if maker is None else maker(kernel, inputs, outputs)


CPU = register_device(CpuDevice())
