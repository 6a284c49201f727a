"""Rules of the kernels that sort, scan, index, move and make elements."""

from __future__ import annotations

from collections.abc import Callable
from string import Formatter
from typing import Any

from lumus import errors
from lumus.compile.passes.operands import (
    Specs,
    check,
    check_alike,
    check_axis,
    check_equal,
    check_floats,
    check_kind,
    replaced,
    without,
)
from lumus.core import kernels
from lumus.core.broadcast import Shape, broadcast_shapes
from lumus.core.dtypes import INT_RANGE, bool_, float64, int64
from lumus.core.spec import Spec, spec_of

MAX_COUNT = 2**62


def _scan(kernel: kernels.Scan, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    check_axis(kernel.axis, x.ndim)
    if kernel.kind == "logsumexp":
        check_kind(x, "float")
    return x if x.dtype.kind == "float" else x.with_dtype(int64)


def _running_extreme(kernel: kernels.RunningExtreme, inputs: Specs, outputs: Specs) -> Specs:
    (x,) = inputs
    check_axis(kernel.axis, x.ndim)
    check_kind(x, "float", "int")
    return (x, x.with_dtype(int64))


def _recurrence(kernel: kernels.Recurrence, inputs: Specs, outputs: Specs) -> Spec:
    a, b = inputs
    check_axis(kernel.axis, b.ndim)
    check_floats(b)
    check_equal(a, b)
    return b


def _sort(kernel: kernels.Sort, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    check_axis(kernel.axis, x.ndim)
    return x


def _argsort(kernel: kernels.Argsort, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    check_axis(kernel.axis, x.ndim)
    return x.with_dtype(int64)


def _topk(kernel: kernels.TopK, inputs: Specs, outputs: Specs) -> Specs:
    (x,) = inputs
    check_axis(kernel.axis, x.ndim)
    check_kind(x, "float", "int")
    check(0 <= kernel.k <= x.shape[kernel.axis], f"{kernel.k} of {x.shape[kernel.axis]} elements")
    values = x.with_shape(replaced(x.shape, kernel.axis, kernel.k))
    return (values, values.with_dtype(int64))


def _search_sorted(kernel: kernels.SearchSorted, inputs: Specs, outputs: Specs) -> Spec:
    lines, values = inputs
    check_alike(lines, values)
    check(lines.ndim, "a number is no line")
    if lines.ndim != 1:
        check_equal(lines.shape[:-1], values.shape[:-1])
        check(values.ndim, "a number has no lines")
    return values.with_dtype(int64)


def _check_along(x: Spec, indices: Spec, axis: int) -> None:
    check_axis(axis, x.ndim)
    check_kind(indices, "int")
    check_equal(indices.ndim, x.ndim)
    check_equal(without(indices.shape, axis), without(x.shape, axis))


def _take_along_axis(kernel: kernels.TakeAlongAxis, inputs: Specs, outputs: Specs) -> Spec:
    x, indices = inputs
    _check_along(x, indices, kernel.axis)
    return x.with_shape(indices.shape)


def _scatter_add(kernel: kernels.ScatterAdd, inputs: Specs, outputs: Specs) -> Spec:
    x, indices, values = inputs
    check_kind(x, "float", "int")
    _check_along(x, indices, kernel.axis)
    check_equal(values, x.with_shape(indices.shape))
    return x


def _picked(x: Spec, indices: Specs) -> Shape:
    check(0 < len(indices) <= x.ndim, f"{len(indices)} indices of {x.ndim} axes")
    for one in indices:
        check_kind(one, "int")
    return (*broadcast_shapes("index", *[one.shape for one in indices]), *x.shape[len(indices) :])


def _index(kernel: kernels.Index, inputs: Specs, outputs: Specs) -> Spec:
    x, *indices = inputs
    return x.with_shape(_picked(x, tuple(indices)))


def _index_put(kernel: kernels.IndexPut, inputs: Specs, outputs: Specs) -> Spec:
    x, values, *indices = inputs
    check_alike(x, values)
    if kernel.accumulate:
        check_kind(x, "float", "int")
    target = _picked(x, tuple(indices))
    check_equal(broadcast_shapes("index_put", values.shape, target), target)
    return x


def _last_writer(kernel: kernels.LastWriter, inputs: Specs, outputs: Specs) -> Spec:
    check_equal(len(kernel.shape), len(inputs))
    check(all(length >= 0 for length in kernel.shape), f"{kernel.shape} is no shape")
    for one in inputs:
        check_kind(one, "int")
    shape = broadcast_shapes("last_writer", *[one.shape for one in inputs])
    return inputs[0].with_shape(shape).with_dtype(bool_)


def _roll(kernel: kernels.Roll, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    for shift, length in zip(kernel.shifts, x.shape, strict=True):
        check(0 <= shift < max(length, 1), f"a shift by {shift} along {length}")
    return x


def _check_reach(kernel: Any, shape: Shape) -> None:
    """That `shape` is continued no further than it reaches."""
    for low, high, length in zip(kernel.before, kernel.after, shape, strict=True):
        furthest = length - 1 if kernel.mode == "reflect" else length
        if kernel.mode == "edge" and length:
            furthest = MAX_COUNT
        check(0 <= low <= max(furthest, 0), f"{low} before {length}")
        check(0 <= high <= max(furthest, 0), f"{high} after {length}")


def _pad(kernel: kernels.Pad, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    _check_reach(kernel, x.shape)
    ends = zip(kernel.before, x.shape, kernel.after, strict=True)
    return x.with_shape(tuple([sum(parts) for parts in ends]))


def _pad_grad(kernel: kernels.PadGrad, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    check_kind(x, "float")
    ends = zip(kernel.before, x.shape, kernel.after, strict=True)
    shape = tuple([length - low - high for low, length, high in ends])
    _check_reach(kernel, shape)
    return x.with_shape(shape)


def _check_windows(size: int, step: int, length: int) -> int:
    """How many windows there are."""
    check(1 <= size <= length, f"windows of {size} along {length}")
    check(step >= 1, f"a step of {step}")
    return (length - size) // step + 1


def _windows(kernel: kernels.Windows, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    check_axis(kernel.axis, x.ndim)
    count = _check_windows(kernel.size, kernel.step, x.shape[kernel.axis])
    return x.with_shape((*replaced(x.shape, kernel.axis, count), kernel.size))


def _windows_grad(kernel: kernels.WindowsGrad, inputs: Specs, outputs: Specs) -> Spec:
    (x,) = inputs
    check_axis(kernel.axis, x.ndim - 1)
    check_kind(x, "float")
    count = _check_windows(x.shape[-1], kernel.step, kernel.length)
    check_equal(x.shape[kernel.axis], count)
    return x.with_shape(replaced(x.shape[:-1], kernel.axis, kernel.length))


def _pieces(kernel: kernels.Pieces, inputs: Specs, outputs: Specs) -> Specs:
    (x,) = inputs
    check_axis(kernel.axis, x.ndim)
    check(kernel.sizes, "no pieces")
    check(all(size >= 0 for size in kernel.sizes), f"pieces of {kernel.sizes}")
    check_equal(sum(kernel.sizes), x.shape[kernel.axis])
    if kernel.keepdims:
        return tuple([x.with_shape(replaced(x.shape, kernel.axis, n)) for n in kernel.sizes])
    check(set(kernel.sizes) == {1}, f"pieces of {kernel.sizes} without their axis")
    return (x.with_shape(without(x.shape, kernel.axis)),) * len(kernel.sizes)


def _one_hot(kernel: kernels.OneHot, inputs: Specs, outputs: Specs) -> Spec:
    (ids,) = inputs
    check_kind(ids, "int")
    check(kernel.num_classes >= 0, f"{kernel.num_classes} classes")
    return ids.with_shape((*ids.shape, kernel.num_classes)).with_dtype(int64)


def _embedding(kernel: kernels.Embedding, inputs: Specs, outputs: Specs) -> Spec:
    ids, table = inputs
    check_kind(ids, "int")
    check_kind(table, "float")
    check_equal(table.ndim, 2)
    return table.with_shape((*ids.shape, table.shape[1]))


def _embedding_grad(kernel: kernels.EmbeddingGrad, inputs: Specs, outputs: Specs) -> Spec:
    grad, ids = inputs
    check_kind(grad, "float")
    check_kind(ids, "int")
    check_equal(grad.shape[:-1], ids.shape)
    check_equal(grad.ndim, ids.ndim + 1)
    check(kernel.num_rows >= 0, f"{kernel.num_rows} rows")
    check(-1 <= kernel.skipped < max(kernel.num_rows, 1), f"row {kernel.skipped}")
    return grad.with_shape((kernel.num_rows, grad.shape[-1]))


_DRAWN = {"bernoulli": ("bool",), "integers": ("int",)}


def _random(kernel: kernels.Random, inputs: Specs, outputs: Specs) -> Spec:
    key, *each = inputs
    check_equal(key, key.with_shape((2,)).with_dtype(int64))
    made = key.with_shape(kernel.shape).with_dtype(kernel.dtype)
    check_kind(made, *_DRAWN.get(kernel.distribution, ("float",)))
    if each:
        check(kernel.distribution in ("bernoulli", "gamma"), "a parameter for each")
        check_equal(tuple(each), (made.with_dtype(float64),))
    elif kernel.distribution == "integers":
        low, high = INT_RANGE[kernel.dtype.name]
        check(low <= kernel.low < kernel.high <= high + 1, f"from {kernel.low} to {kernel.high}")
        check_equal((int(kernel.low), int(kernel.high)), (kernel.low, kernel.high))
    elif kernel.distribution == "bernoulli":
        check(0 <= kernel.low <= 1, f"a probability of {kernel.low}")
    elif kernel.distribution == "gamma":
        check(0 < kernel.low < float("inf"), f"a concentration of {kernel.low}")
    return made


def _arange(kernel: kernels.Arange, inputs: Specs, outputs: Specs) -> Spec:
    check_equal(inputs, ())
    check(0 <= kernel.count < MAX_COUNT, f"{kernel.count} numbers")
    if kernel.dtype.kind == "int":
        low, high = INT_RANGE[kernel.dtype.name]
        last = kernel.start + kernel.step * max(kernel.count - 1, 0)
        check(low <= kernel.start <= high, f"from {kernel.start}")
        check(low <= last <= high, f"to {last}")
        check(isinstance(last, int), f"{kernel.dtype.name} to {last}")
    else:
        check_equal(kernel.dtype.kind, "float")
    return spec_of((kernel.count,), kernel.dtype, outputs[0].device)


def _linspace(kernel: kernels.Linspace, inputs: Specs, outputs: Specs) -> Spec:
    check_equal(inputs, ())
    check_equal(kernel.dtype.kind, "float")
    check(0 <= kernel.count < MAX_COUNT, f"{kernel.count} numbers")
    return spec_of((kernel.count,), kernel.dtype, outputs[0].device)


def _checked(kernel: kernels.Checked, inputs: Specs, outputs: Specs) -> Spec:
    value, holds = inputs
    check_kind(holds, "bool")
    check_equal(broadcast_shapes("checked", holds.shape, value.shape), value.shape)
    kind: object = getattr(errors, kernel.error, None)
    is_error = isinstance(kind, type) and issubclass(kind, errors.LumusError)
    check(is_error, f"no error {kernel.error}")
    for _, field, how, conversion in Formatter().parse(kernel.message):
        check(not (field or how or conversion), "a message with more than {} in it")
    check(kernel.message.count("{}") <= 1, "a message with more than one {}")
    return value


def _distances(kernel: kernels.Distances, inputs: Specs, outputs: Specs) -> Spec:
    x, y = inputs
    check_floats(x, y)
    check(x.ndim >= 2, f"rows of {x!r}")
    check_equal((*y.shape[:-2], y.shape[-1]), (*x.shape[:-2], x.shape[-1]))
    check_equal(y.ndim, x.ndim)
    return x.with_shape((*x.shape[:-1], y.shape[-2]))


RULES: dict[type[Any], Callable[[Any, Specs, Specs], Spec | Specs]] = {
    kernels.Embedding: _embedding,
    kernels.EmbeddingGrad: _embedding_grad,
    kernels.OneHot: _one_hot,
    kernels.Arange: _arange,
    kernels.Checked: _checked,
    kernels.Distances: _distances,
    kernels.Index: _index,
    kernels.IndexPut: _index_put,
    kernels.LastWriter: _last_writer,
    kernels.Linspace: _linspace,
    kernels.Random: _random,
    kernels.ScatterAdd: _scatter_add,
    kernels.TakeAlongAxis: _take_along_axis,
    kernels.Pad: _pad,
    kernels.PadGrad: _pad_grad,
    kernels.Pieces: _pieces,
    kernels.Roll: _roll,
    kernels.Windows: _windows,
    kernels.WindowsGrad: _windows_grad,
    kernels.Argsort: _argsort,
    kernels.Recurrence: _recurrence,
    kernels.RunningExtreme: _running_extreme,
    kernels.Scan: _scan,
    kernels.SearchSorted: _search_sorted,
    kernels.Sort: _sort,
    kernels.TopK: _topk,
}
