"""Attention with all scores in memory: floats in float64, rounded once at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lumus.core import kernels as k
from lumus.core.dtypes import bool_
from lumus.core.kernels.create import Random
from lumus.core.kernels.kernel import Kernel
from lumus.core.spec import Spec
from lumus.devices.reference.arrays import widened
from lumus.devices.reference.random import drawn
from lumus.devices.reference.scalar import Array

Specs = tuple[Spec, ...]
AnyKernel = k.Attention | k.AttentionGrad


def forward(kernel: k.Attention, arrays: Sequence[Array], outputs: Specs) -> tuple[Array, Array]:
    """The outputs, and the logarithms of the sums of exponentials."""
    query, key, value = map(widened, arrays[:3])
    scores, allowed, factors = _scores(kernel, query, key, arrays[3:])
    largest = np.max(scores, axis=-1, keepdims=True, initial=-np.inf)
    has_any = allowed.any(axis=-1, keepdims=True)
    exponentials = np.where(allowed, np.exp(scores - largest), 0.0)
    total = exponentials.sum(axis=-1, keepdims=True)
    weights = np.where(has_any, exponentials / total, 0.0) * factors
    logarithms = np.where(has_any, largest + np.log(total), -np.inf)
    repeated = _repeated(value, query)
    return _product(weights, repeated, allowed), logarithms[..., 0]


def backward(kernel: k.AttentionGrad, arrays: Sequence[Array], outputs: Specs) -> list[Array]:
    """The gradients of query, key, value and, if wanted, of the scores."""
    grad, query, key, value, output, logarithms = map(widened, arrays[:6])
    scores, allowed, factors = _scores(kernel, query, key, arrays[6:])
    keys, values = _repeated(key, query), _repeated(value, query)
    weights = np.where(allowed, np.exp(scores - logarithms[..., None]), 0.0)
    grad_weights = np.where(allowed, grad @ np.swapaxes(values, -1, -2), 0.0) * factors
    delta = (grad * output).sum(axis=-1, keepdims=True)
    grad_scores = np.where(allowed, weights * (grad_weights - delta), 0.0)
    turned = np.swapaxes(allowed, -1, -2)
    grad_key = _product(np.swapaxes(grad_scores, -1, -2), query, turned) * kernel.scale
    grad_value = _product(np.swapaxes(weights * factors, -1, -2), grad, turned)
    grads = [
        _product(grad_scores, keys, allowed) * kernel.scale,
        _summed(grad_key, key),
        _summed(grad_value, value),
    ]
    return [*grads, grad_scores] if kernel.wants_scores else grads


def _scores(
    kernel: AnyKernel, query: Array, key: Array, more: Sequence[Array]
) -> tuple[Array, Array, Array | float]:
    """The scores, which of them count, and what dropout multiplies the weights with."""
    scores = query @ np.swapaxes(_repeated(key, query), -1, -2) * kernel.scale
    allowed = np.ones(scores.shape, np.bool_)
    if kernel.is_causal:
        num_queries, num_keys = scores.shape[-2:]
        allowed &= np.arange(num_keys) <= np.arange(num_queries)[:, None]
    if kernel.has_mask:
        mask = more[0]
        allowed &= mask if mask.dtype == np.bool_ else mask != -np.inf
        if mask.dtype != np.bool_:
            scores = scores + widened(mask)
    factors: Array | float = 1.0
    if kernel.dropout > 0:
        factors = _factors(kernel, more[-1], scores.shape)
    return np.where(allowed, scores, -np.inf), allowed, factors


def _factors(kernel: AnyKernel, random_key: Array, shape: tuple[int, ...]) -> Array:
    """0 for what is dropped. The numbers of a query start at a block of four."""
    padded = (*shape[:-1], -(-shape[-1] // 4) * 4)
    drawing = Random("bernoulli", padded, bool_, low=1 - kernel.dropout)
    kept = drawn(drawing, random_key)[..., : shape[-1]]
    return np.where(kept, 1 / np.float64(1 - kernel.dropout), 0.0)


def _repeated(x: Array, query: Array) -> Array:
    """Keys or values, once for each head of the queries."""
    if x.ndim == 2 or x.shape[-3] == query.shape[-3]:
        return x
    return np.repeat(x, query.shape[-3] // x.shape[-3], axis=-3)


def _summed(grad: Array, x: Array) -> Array:
    """What `_repeated` transposes to."""
    if grad.shape == x.shape:
        return grad
    shared = grad.shape[-3] // x.shape[-3]
    return grad.reshape(*x.shape[:-2], shared, *x.shape[-2:]).sum(axis=-3)


def _product(weights: Array, rows: Array, allowed: Array) -> Array:
    """Weights times rows; what is not allowed adds nothing, even infinities."""
    if np.isfinite(rows).all() or allowed.all():
        return weights @ rows
    products = weights[..., None] * rows[..., None, :, :]
    return np.where(allowed[..., None], products, 0.0).sum(axis=-2)


TABLE: dict[type[Kernel], Callable[[Any, Sequence[Array], Any], Any]] = {
    k.Attention: forward,
    k.AttentionGrad: backward,
}
