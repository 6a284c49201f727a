"""Reductions, softmax and the matrix product: floats in float64, rounded once at the end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lumus.core import kernels as k
from lumus.core.dtypes import float32, is_half
from lumus.core.spec import Spec
from lumus.devices.reference.arrays import widened
from lumus.devices.reference.scalar import Array, evaluate


def reduce(kernel: k.Reduce, arrays: Sequence[Array], output: Spec) -> Array:
    """All elements along the axes combined."""
    if kernel.prologue is not None:
        value = float32 if is_half(output.dtype) else output.dtype
        (array,) = evaluate(kernel.prologue, arrays, (value,))
    else:
        (array,) = arrays
    array = widened(array)
    axes, keepdims = kernel.axes, kernel.keepdims
    match kernel.kind:
        case "sum":
            # Without the dtype NumPy would add up bools and small ints in the platform's int.
            dtype = None if array.dtype.kind == "f" else np.int64
            return np.asarray(array.sum(axis=axes, keepdims=keepdims, dtype=dtype))
        case "mean":
            count = np.prod([array.shape[axis] for axis in axes])
            return np.asarray(array.sum(axis=axes, keepdims=keepdims)) / np.float64(count)
        case "prod":
            dtype = None if array.dtype.kind == "f" else np.int64
            return np.asarray(array.prod(axis=axes, keepdims=keepdims, dtype=dtype))
        case "max" | "min":
            if not array.size:
                return np.zeros(output.shape, array.dtype)
            extreme = array.max if kernel.kind == "max" else array.min
            return np.asarray(extreme(axis=axes, keepdims=keepdims))
        case "any":
            return np.asarray(array.any(axis=axes, keepdims=keepdims))
        case "all":
            return np.asarray(array.all(axis=axes, keepdims=keepdims))


def arg_reduce(kernel: k.ArgReduce, arrays: Sequence[Array], output: Spec) -> Array:
    """The first position of the extreme; NumPy, too, takes the first NaN for it."""
    if not output.size:
        return np.zeros(output.shape, np.int64)
    search = np.argmax if kernel.kind == "max" else np.argmin
    return np.asarray(search(arrays[0], axis=kernel.axis, keepdims=kernel.keepdims))


def logsumexp(kernel: k.LogSumExp, arrays: Sequence[Array], output: Spec) -> Array:
    """log(sum(exp(x))), with the largest element taken out where it is finite."""
    array = widened(arrays[0])
    largest = np.max(array, axis=kernel.axes, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(largest), largest, 0.0)
    total = np.exp(array - shift).sum(axis=kernel.axes, keepdims=True)
    return np.asarray((np.log(total) + shift).reshape(output.shape))


def norm(kernel: k.Norm, arrays: Sequence[Array], output: Spec) -> Array:
    """The p-norm, in numbers of such a range that no power leaves it."""
    magnitudes = np.abs(arrays[0]).astype(np.longdouble)
    return _combined(magnitudes, kernel.p, kernel.axes).reshape(output.shape)


def distances(kernel: k.Distances, arrays: Sequence[Array], output: Spec) -> Array:
    """The p-norms of all differences."""
    x, y = (one.astype(np.longdouble) for one in arrays)
    differences = np.abs(x[..., :, None, :] - y[..., None, :, :])
    return _combined(differences, kernel.p, (differences.ndim - 1,))


def _combined(magnitudes: Array, p: float, axes: tuple[int, ...]) -> Array:
    if np.isinf(p):
        # Over nothing 0, which no magnitude is below.
        extreme = np.asarray(
            np.max(magnitudes, axis=axes, initial=0.0) if p > 0 else np.min(magnitudes, axis=axes)
        )
        return extreme.astype(np.float64)
    if p == 0:
        return np.asarray((magnitudes != 0).sum(axis=axes), np.float64)
    total = (magnitudes ** np.longdouble(p)).sum(axis=axes)
    return np.asarray(total ** (1 / np.longdouble(p))).astype(np.float64)


def softmax(kernel: k.Softmax, arrays: Sequence[Array], output: Spec) -> Array:
    """exp(x) / sum(exp(x)) or its logarithm; inf - inf is the NaN of rows without such a ratio."""
    array = widened(arrays[0])
    shifted = array - np.max(array, axis=kernel.axis, keepdims=True, initial=-np.inf)
    total = np.exp(shifted).sum(axis=kernel.axis, keepdims=True)
    return np.asarray(shifted - np.log(total) if kernel.log else np.exp(shifted) / total)


def softmax_grad(kernel: k.SoftmaxGrad, arrays: Sequence[Array], output: Spec) -> Array:
    """The gradient y * (grad - sum(grad * y)), or grad - exp(y) * sum(grad)."""
    grad, y = widened(arrays[0]), widened(arrays[1])
    if kernel.log:
        return np.asarray(grad - np.exp(y) * grad.sum(axis=kernel.axis, keepdims=True))
    return np.asarray(y * (grad - (grad * y).sum(axis=kernel.axis, keepdims=True)))


def matmul(kernel: k.MatMul, arrays: Sequence[Array], output: Spec) -> Array:
    """The matrix product; ints wrap in their dtype."""
    x, y = widened(arrays[0]), widened(arrays[1])
    if output.dtype.kind == "int":
        x, y = x.astype(output.dtype.name), y.astype(output.dtype.name)
    product = np.matmul(x, np.swapaxes(y, -1, -2) if kernel.transposed else y)
    return np.asarray(product + widened(arrays[2]) if kernel.bias else product)
