"""Normalisation from its definition, in float64, rounded once at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lumus.core import kernels as k
from lumus.core.kernels.kernel import Kernel
from lumus.core.spec import Spec
from lumus.devices.reference.arrays import widened
from lumus.devices.reference.scalar import Array


def _axes(kernel: k.Normalize | k.NormalizeGrad) -> tuple[int, int]:
    return (2, 3) if kernel.over == "rows" else (0, 3)


def _per_channel(kernel: k.Normalize | k.NormalizeGrad, values: Array) -> Array:
    _, groups, channels, _ = kernel.extents
    return values.reshape(1, groups, channels, 1)


def _mean(kernel: k.Normalize | k.NormalizeGrad, x: Array) -> Array:
    axes = _axes(kernel)
    count = np.float64(kernel.extents[axes[0]] * kernel.extents[axes[1]])
    return np.asarray(x.sum(axis=axes, keepdims=True) / count)


def _measured(kernel: k.Normalize | k.NormalizeGrad, x: Array) -> tuple[Array, Array]:
    mean = _mean(kernel, x) if kernel.is_centered else np.zeros(())
    return mean, _mean(kernel, (x - mean) ** 2)


def normalize(kernel: k.Normalize, arrays: Sequence[Array], outputs: Any) -> Any:
    """The result, and the statistics if they were measured."""
    given = [widened(one) for one in arrays]
    x = given.pop(0).reshape(kernel.extents)
    if kernel.is_measured:
        mean, variance = _measured(kernel, x)
    else:
        mean, variance = (_per_channel(kernel, given.pop(0)) for _ in range(2))
    root = 1 / np.sqrt(variance + kernel.eps)
    y = (x - mean) * root
    if kernel.has_weight:
        y = y * _per_channel(kernel, given.pop(0))
    if kernel.has_bias:
        y = y + _per_channel(kernel, given.pop(0))
    if not kernel.is_measured:
        return y.reshape(outputs.shape)
    spread = root if kernel.over == "rows" else variance
    statistics = (mean, spread) if kernel.is_centered else (spread,)
    return (y.reshape(outputs[0].shape), *[one.reshape(-1) for one in statistics])


def normalize_grad(kernel: k.NormalizeGrad, arrays: Sequence[Array], outputs: Any) -> Any:
    """The gradients that are wanted; statistics that depend on x are measured anew."""
    grad, x, *given = (widened(one) for one in arrays)
    grad, x = grad.reshape(kernel.extents), x.reshape(kernel.extents)
    weight = _per_channel(kernel, given[-1]) if kernel.has_weight else np.ones(())
    if kernel.is_measured:
        mean, variance = _measured(kernel, x)
    else:
        mean, variance = (_per_channel(kernel, one) for one in given[:2])
    root = 1 / np.sqrt(variance + kernel.eps)
    normalized, scaled = (x - mean) * root, grad * weight
    grad_x = scaled
    if kernel.is_measured:
        grad_x = scaled - normalized * _mean(kernel, scaled * normalized)
        if kernel.is_centered:
            grad_x = grad_x - _mean(kernel, scaled)
    found = (grad_x * root, (grad * normalized).sum(axis=(0, 3)), grad.sum(axis=(0, 3)))
    results = [one for one, is_wanted in zip(found, kernel.wanted, strict=True) if is_wanted]
    if isinstance(outputs, Spec):
        return results[0].reshape(outputs.shape)
    return [one.reshape(spec.shape) for one, spec in zip(results, outputs, strict=True)]


TABLE: dict[type[Kernel], Callable[[Any, Sequence[Array], Any], Any]] = {
    k.Normalize: normalize,
    k.NormalizeGrad: normalize_grad,
}
