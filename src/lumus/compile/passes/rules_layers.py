"""Rules of the kernels that are whole layers: attention, normalisation, recurrence, losses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from lumus.compile.passes.operands import (
    Specs,
    check,
    check_equal,
    check_floats,
    check_kind,
    widened,
)
from lumus.core import kernels
from lumus.core.broadcast import Shape
from lumus.core.dtypes import float64, int64
from lumus.core.kernels.recurrent import NUM_GATES
from lumus.core.spec import Spec


def _check_attention(kernel: Any, query: Spec, key: Spec, value: Spec, more: Specs) -> None:
    """That query, key and value fit, and what may come behind them."""
    check_floats(query, key, value)
    check(query.ndim >= 2, f"queries of {query!r}")
    check_equal((key.ndim, value.ndim), (query.ndim, query.ndim))
    check_equal(key.shape[-1], query.shape[-1])
    check_equal(value.shape[:-1], key.shape[:-1])
    _check_heads(query.shape[:-2], key.shape[:-2])
    check(math.isfinite(kernel.scale), f"a scale of {kernel.scale}")
    check(0 <= kernel.dropout <= 1, f"a dropout of {kernel.dropout}")
    check_equal(len(more), kernel.has_mask + (kernel.dropout > 0))
    if kernel.has_mask:
        scores = widened(query).with_shape((*query.shape[:-1], key.shape[-2]))
        wanted = scores.with_dtype(more[0].dtype) if more[0].dtype.kind == "bool" else scores
        check_equal(more[0], wanted)
    if kernel.dropout > 0:
        check_equal(more[-1], query.with_shape((2,)).with_dtype(int64))


def _check_heads(of_query: Shape, of_keys: Shape) -> None:
    """Leading axes are equal, but for the last: heads of queries may share heads of keys."""
    check_equal(of_keys[:-1], of_query[:-1])
    if of_query and of_query[-1] != of_keys[-1]:
        check(of_keys[-1], f"{of_query[-1]} heads share none")
        check_equal(of_query[-1] % of_keys[-1], 0)


def _attention(kernel: kernels.Attention, inputs: Specs, outputs: Specs) -> Specs:
    query, key, value, *more = inputs
    _check_attention(kernel, query, key, value, tuple(more))
    logarithms = widened(query).with_shape(query.shape[:-1])
    return (query.with_shape((*query.shape[:-1], value.shape[-1])), logarithms)


def _attention_grad(kernel: kernels.AttentionGrad, inputs: Specs, outputs: Specs) -> Specs:
    grad, query, key, value, output, logarithms, *more = inputs
    _check_attention(kernel, query, key, value, tuple(more))
    check_equal(output, query.with_shape((*query.shape[:-1], value.shape[-1])))
    check_equal(grad, output)
    check_equal(logarithms, widened(query).with_shape(query.shape[:-1]))
    if not kernel.wants_scores:
        return (query, key, value)
    return (query, key, value, logarithms.with_shape((*query.shape[:-1], key.shape[-2])))


def _check_extents(kernel: Any, x: Spec) -> None:
    check_kind(x, "float")
    check(all(one >= 0 for one in kernel.extents), f"extents {kernel.extents}")
    check(math.prod(kernel.extents) == x.size, f"extents {kernel.extents} of {x!r}")
    if kernel.over == "channels":
        check_equal(kernel.extents[1], 1)
        check(kernel.is_centered, "channels that are not centered")


def _statistics(kernel: Any, x: Spec) -> Specs:
    outer, groups, channels, _ = kernel.extents
    count = outer * groups if kernel.over == "rows" else channels
    one = widened(x).with_shape((count,))
    return (one, one) if kernel.is_centered else (one,)


def _check_weights(kernel: Any, x: Spec, weights: Specs) -> None:
    for one in weights:
        check_kind(one, "float")
        check_equal(one.size, kernel.extents[1] * kernel.extents[2])
        check_equal(one.dtype, x.dtype)


def _normalize(kernel: kernels.Normalize, inputs: Specs, outputs: Specs) -> Specs:
    x, *more = inputs
    _check_extents(kernel, x)
    check(kernel.has_weight or not kernel.has_bias, "a bias without a weight")
    num_given = 0 if kernel.is_measured else 2
    check_equal(len(more), num_given + kernel.has_weight + kernel.has_bias)
    _check_weights(kernel, x, tuple(more[num_given:]))
    if kernel.is_measured:
        return (x, *_statistics(kernel, x))
    for one in more[:2]:
        check_kind(one, "float")
        check_equal(one.shape, (kernel.extents[2],))
    return (x,)


def _normalize_grad(kernel: kernels.NormalizeGrad, inputs: Specs, outputs: Specs) -> Specs:
    grad, x, *more = inputs
    _check_extents(kernel, x)
    check_equal(grad, x)
    statistics = _statistics(kernel, x)
    check_equal(len(more), len(statistics) + kernel.has_weight)
    for one, wanted in zip(more, statistics, strict=False):
        check_kind(one, "float")
        check_equal(one.shape, wanted.shape)
    _check_weights(kernel, x, tuple(more[len(statistics) :]))
    check(any(kernel.wanted), "no gradient is wanted")
    affine = outputs[-1] if any(kernel.wanted[1:]) else x
    if any(kernel.wanted[1:]):
        _check_weights(kernel, x, (affine,))
    found = zip((x, affine, affine), kernel.wanted, strict=True)
    return tuple([one for one, is_wanted in found if is_wanted])


def _num_states(cell: kernels.CellKind) -> int:
    return 2 if cell == "lstm" else 1


def _recurrent(kernel: kernels.Recurrent, inputs: Specs, outputs: Specs) -> Specs:
    floats = inputs[: len(inputs) - kernel.has_lengths]
    num_states = _num_states(kernel.cell)
    check_equal(len(floats), 3 + num_states + 2 * kernel.has_bias)
    check_floats(*floats)
    x, hidden = floats[:2]
    num_steps, batch, features = x.shape
    width = hidden.shape[-1]
    rows = NUM_GATES[kernel.cell] * width
    wanted: list[Shape] = [(batch, width)] * num_states
    wanted += [(rows, features), (rows, width), *[(rows,)] * (2 * kernel.has_bias)]
    check_equal([one.shape for one in floats[1:]], wanted)
    if kernel.has_lengths:
        _check_lengths(inputs[-1], batch)
    output = x.with_shape((num_steps, batch, width))
    results = (output, *floats[1 : 1 + num_states])
    if NUM_GATES[kernel.cell] == 1:
        return results
    memory = widened(output)
    return (*results, memory.with_shape((num_steps, batch, rows)), memory)


def _check_lengths(lengths: Spec, batch: int) -> None:
    check_kind(lengths, "int")
    check_equal(lengths.shape, (batch,))


def _recurrent_grad(kernel: kernels.RecurrentGrad, inputs: Specs, outputs: Specs) -> Specs:
    num_states = _num_states(kernel.cell)
    is_gated = NUM_GATES[kernel.cell] > 1
    floats = inputs[: len(inputs) - kernel.has_lengths]
    check_equal(len(floats), 3 + 2 * num_states + 2 * is_gated)
    grad = floats[0]
    num_steps, batch, width = grad.shape
    state, memory = grad.with_shape((batch, width)), widened(grad)
    rows = NUM_GATES[kernel.cell] * width
    gates = memory.with_shape((num_steps, batch, rows))
    wanted = [grad, *[state] * num_states, grad, *((gates, memory) if is_gated else ())]
    wanted += [*[state] * num_states, grad.with_shape((rows, width))]
    check_kind(grad, "float")
    check_equal(list(floats), wanted)
    if kernel.has_lengths:
        _check_lengths(inputs[-1], batch)
    states = (state,) * num_states
    if not is_gated:
        return (memory, *states)
    return (gates, gates, *states) if kernel.cell == "gru" else (gates, *states)


def _check_rows(kernel: Any, logits: Spec, targets: Spec) -> Specs:
    """That there are rows with targets; the specs of a loss's result, stats and divisor."""
    check_kind(logits, "float")
    check_equal(logits.ndim, 2)
    check_kind(targets, "int")
    check_equal(targets.shape, logits.shape[:1])
    check(0 <= kernel.label_smoothing <= 1, f"a smoothing by {kernel.label_smoothing}")
    return (
        logits.with_shape(targets.shape if kernel.reduction == "none" else ()),
        widened(logits).with_shape((logits.shape[0], 2)),
        logits.with_shape(()).with_dtype(float64),
    )


def _cross_entropy(kernel: kernels.CrossEntropy, inputs: Specs, outputs: Specs) -> Specs:
    logits, targets = inputs
    return _check_rows(kernel, logits, targets)


def _cross_entropy_grad(kernel: kernels.CrossEntropyGrad, inputs: Specs, outputs: Specs) -> Spec:
    grad, logits, targets, stats, divisor = inputs
    check_equal((grad, stats, divisor), _check_rows(kernel, logits, targets))
    return logits


def _ctc(kernel: kernels.Ctc, inputs: Specs, outputs: Specs) -> Spec:
    logarithms, labels, num_counted, num_targets = inputs
    check_kind(logarithms, "float")
    for one in inputs[1:]:
        check_kind(one, "int")
    check_equal((logarithms.ndim, labels.ndim), (3, 2))
    _, batch, _ = logarithms.shape
    check_equal(
        (labels.shape[0], num_counted.shape, num_targets.shape), (batch, (batch,), (batch,))
    )
    check(labels.shape[1] % 2 == 1, "labels have a blank between and around them")
    return logarithms.with_shape((batch,))


def _ctc_grad(kernel: kernels.CtcGrad, inputs: Specs, outputs: Specs) -> Spec:
    grad, *given = inputs
    check_equal(grad, _ctc(kernels.Ctc(), tuple(given), outputs))
    return given[0]


RULES: dict[type[Any], Callable[[Any, Specs, Specs], Spec | Specs]] = {
    kernels.Attention: _attention,
    kernels.AttentionGrad: _attention_grad,
    kernels.CrossEntropy: _cross_entropy,
    kernels.CrossEntropyGrad: _cross_entropy_grad,
    kernels.Ctc: _ctc,
    kernels.CtcGrad: _ctc_grad,
    kernels.Normalize: _normalize,
    kernels.NormalizeGrad: _normalize_grad,
    kernels.Recurrent: _recurrent,
    kernels.RecurrentGrad: _recurrent_grad,
}
