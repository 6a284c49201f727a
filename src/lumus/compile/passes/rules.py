"""What kernels give for given operands, told of the kernel alone.

An op's `infer` says it of the op. Passes make equations that are no op's any more; the kernels that
they make them of have a rule here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from lumus.compile.passes import rules_along, rules_layers, rules_matrices, rules_windows
from lumus.compile.passes.operands import (
    Specs,
    check,
    check_alike,
    check_axis,
    check_equal,
    check_kind,
    meets_columns,
)
from lumus.core import kernels as k
from lumus.core.broadcast import Shape, broadcast_shapes
from lumus.core.dtypes import int64, promote
from lumus.core.kernels.kernel import Kernel
from lumus.core.scalar.program import compile_program
from lumus.core.spec import Spec


def expected(kernel: Kernel, inputs: Specs, outputs: Specs) -> Specs | None:
    """The specs that the outputs must have; None where no rule says it.

    Raises, by an assertion or an error of the library, where the operands do not fit. Expressions
    are checked with the outputs' dtypes, since they have none of their own.
    """
    rule = _RULES.get(type(kernel))
    if rule is None:
        return None
    given: Specs | Spec = rule(kernel, inputs, outputs)
    return (given,) if isinstance(given, Spec) else given


def _elementwise(kernel: k.Elementwise, inputs: Specs, outputs: Specs) -> Specs:
    dtypes = [spec.dtype for spec in inputs]
    compile_program(kernel.expression, dtypes, [spec.dtype for spec in outputs])
    check(len(inputs) > 0, "an expression of no operands has no shape")
    shape = broadcast_shapes("elementwise", *[spec.shape for spec in inputs])
    return tuple([spec.with_shape(shape) for spec in outputs])


_REDUCED: dict[k.ReduceKind, tuple[str, ...]] = {
    "all": ("bool",),
    "any": ("bool",),
    "max": ("float", "int"),
    "mean": ("float",),
    "min": ("float", "int"),
    "prod": ("float", "int"),
    "sum": ("float", "int"),
}
"""The kinds of results."""


def _reduce(kernel: k.Reduce, inputs: Specs, outputs: Specs) -> Spec:
    result = outputs[0]
    if kernel.prologue is None:
        check(len(inputs) == 1, "one operand without a prologue")
        result = inputs[0]
        if kernel.kind in ("sum", "prod") and result.dtype.kind != "float":
            result = result.with_dtype(int64)
    else:
        compile_program(kernel.prologue, [spec.dtype for spec in inputs], [result.dtype])
    check_kind(result, *_REDUCED[kernel.kind])
    shape = broadcast_shapes("reduce", *[spec.shape for spec in inputs])
    made = result.with_shape(reduced(shape, kernel.axes, kernel.keepdims))
    if kernel.kind in ("max", "min"):
        _check_not_empty(shape, kernel.axes)
    return made


def _check_not_empty(shape: Shape, axes: tuple[int, ...]) -> None:
    """That there is something to choose from."""
    check(all(shape[axis] for axis in axes), f"the largest of nothing, over {axes} of {shape}")


def reduced(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape:
    """The shape that is left when `axes` are combined."""
    check(all(0 <= axis < len(shape) for axis in axes), f"axes {axes} of shape {shape}")
    check(len(set(axes)) == len(axes), f"axes {axes} name one twice")
    if keepdims:
        return tuple([1 if axis in axes else length for axis, length in enumerate(shape)])
    return tuple([length for axis, length in enumerate(shape) if axis not in axes])


def _over_axes(kernel: Any, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    check_kind(x, "float")
    if isinstance(kernel, k.Norm) and not kernel.p >= 0:
        _check_not_empty(x.shape, kernel.axes)
    return x.with_shape(reduced(x.shape, kernel.axes, kernel.keepdims))


def _arg_reduce(kernel: k.ArgReduce, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    check_kind(x, "float", "int")
    axes = tuple(range(x.ndim)) if kernel.axis is None else (kernel.axis,)
    shape = reduced(x.shape, axes, kernel.keepdims)
    _check_not_empty(x.shape, axes)
    return x.with_shape(shape).with_dtype(int64)


def _matmul(kernel: k.MatMul, inputs: Specs, outputs: Specs) -> Spec:
    x, y = inputs[:2]
    check(len(inputs) == 2 + kernel.bias, "two operands and the bias, if it has one")
    check(x.ndim > 0 and y.ndim > 0, "both operands have axes")
    columns = y.shape
    if kernel.transposed:
        check(y.ndim > 1, "a vector has no axes to swap")
        columns = (*y.shape[:-2], y.shape[-1], y.shape[-2])
    check(x.shape[-1] == columns[max(y.ndim - 2, 0)], f"{x.shape} by {columns}")
    if kernel.bias:
        check(y.ndim == 2, "a bias goes with a matrix")
        check(inputs[2].shape == columns[-1:], f"a bias of {inputs[2].shape} for {columns}")
    dtype = x.dtype
    for other in inputs[1:]:
        dtype = promote(dtype, other.dtype, "matmul")
    batch = broadcast_shapes("matmul", x.shape[:-2], columns[:-2])
    shape = (*batch, *x.shape[-2:-1], *(columns[-1:] if y.ndim > 1 else ()))
    return x.with_shape(shape).with_dtype(dtype)


def _with_epilogue(kernel: k.WithEpilogue, inputs: Specs, outputs: Specs) -> Spec:
    own, others = kernel.split(inputs)
    result = _matmul(kernel.product, own, outputs)
    check(result.ndim > 0, "an epilogue of a product without axes")
    dtypes = [spec.dtype for spec in (result, *others)]
    compile_program(kernel.epilogue, dtypes, [result.dtype])
    for other in others:
        check(meets_columns(result, other), f"{other!r} in an epilogue of {result!r}")
    return result


def _copy(kernel: k.Copy, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    return x


def _cast(kernel: k.Cast, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    return x.with_dtype(kernel.dtype)


def _softmax(kernel: k.Softmax | k.SoftmaxGrad, inputs: Specs, outputs: Specs) -> Spec:
    check(len(inputs) == (2 if isinstance(kernel, k.SoftmaxGrad) else 1), "another operand")
    check_kind(inputs[0], "float")
    check_axis(kernel.axis, inputs[0].ndim)
    check_equal(inputs[-1], inputs[0])
    return inputs[0]


def _reshape(kernel: k.Reshape, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    check(x.size == math.prod(kernel.shape), f"{x.shape} has other elements than {kernel.shape}")
    return x.with_shape(kernel.shape)


def _permute(kernel: k.Permute, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    check(sorted(kernel.axes) == list(range(x.ndim)), f"axes {kernel.axes} of {x.shape}")
    return x.with_shape(tuple([x.shape[axis] for axis in kernel.axes]))


def _slice(kernel: k.Slice, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    _check_window(kernel, kernel.sizes, x.shape)
    return x.with_shape(kernel.sizes)


def _unslice(kernel: k.Unslice, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    _check_window(kernel, x.shape, kernel.shape)
    return x.with_shape(kernel.shape)


def _slice_put(kernel: k.SlicePut, inputs: Specs, outputs: Specs) -> Spec:
    x, values = inputs
    _check_window(kernel, kernel.sizes, x.shape)
    check(broadcast_shapes("slice_put", values.shape, kernel.sizes) == kernel.sizes, repr(values))
    return x


def _check_window(kernel: Any, sizes: Shape, shape: Shape) -> None:
    """That a slice of `sizes` lies within `shape`."""
    for start, size, step, length in zip(kernel.starts, sizes, kernel.steps, shape, strict=True):
        last = start + (size - 1) * step
        check(step != 0, "a step of 0")
        check(
            size == 0 or (0 <= start < length and 0 <= last < length), f"{kernel} is beyond {shape}"
        )


def _broadcast_to(kernel: k.BroadcastTo, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    joined = broadcast_shapes("broadcast_to", x.shape, kernel.shape)
    check(joined == kernel.shape, f"{x.shape} does not broadcast to {kernel.shape}")
    return x.with_shape(kernel.shape)


def _concat(kernel: k.Concat, inputs: Specs, outputs: Specs) -> Spec:
    first = inputs[0]
    check_axis(kernel.axis, first.ndim)
    check_alike(*inputs)
    rest = {spec.shape[: kernel.axis] + spec.shape[kernel.axis + 1 :] for spec in inputs}
    check(len(rest) == 1, f"shapes {[spec.shape for spec in inputs]} along axis {kernel.axis}")
    length = sum(spec.shape[kernel.axis] for spec in inputs)
    shape = (*first.shape[: kernel.axis], length, *first.shape[kernel.axis + 1 :])
    return first.with_shape(shape)


_RULES: dict[type[Kernel], Callable[[Any, Specs, Specs], Spec | Specs]] = {
    **rules_along.RULES,
    **rules_layers.RULES,
    **rules_matrices.RULES,
    **rules_windows.RULES,
    k.ArgReduce: _arg_reduce,
    k.BroadcastTo: _broadcast_to,
    k.Cast: _cast,
    k.Concat: _concat,
    k.Copy: _copy,
    k.Elementwise: _elementwise,
    k.LogSumExp: _over_axes,
    k.MatMul: _matmul,
    k.Norm: _over_axes,
    k.Permute: _permute,
    k.Reduce: _reduce,
    k.Reshape: _reshape,
    k.Slice: _slice,
    k.SlicePut: _slice_put,
    k.Softmax: _softmax,
    k.SoftmaxGrad: _softmax,
    k.Unslice: _unslice,
    k.WithEpilogue: _with_epilogue,
}
