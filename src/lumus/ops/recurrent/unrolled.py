"""The steps of recurrent layers in plain ops, one by one: differentiable to any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lumus.core.dtypes import int64
from lumus.core.kernels.recurrent import CellKind
from lumus.core.kinds import Bool, Float, Int
from lumus.core.tensor import Tensor
from lumus.ops.create.arange import arange
from lumus.ops.elementwise.where import where
from lumus.ops.linalg.linear import linear
from lumus.ops.shape.split import split
from lumus.ops.shape.stack import stack

Floats = list[Tensor[Float]]


def valid_steps(lengths: Tensor[Int], num_steps: int) -> Tensor[Bool]:
    """Which steps of which rows count: (num_steps, batch, 1)."""
    steps = arange(num_steps, dtype=int64, device=lengths.device).reshape(num_steps, 1, 1)
    return steps < lengths.astype(int64).reshape(1, lengths.shape[0], 1)


def unrolled(
    cell: CellKind,
    x: Tensor[Float],
    states: Floats,
    weights: Floats,
    *,
    projection: Tensor[Float] | None = None,
    lengths: Tensor[Int] | None = None,
    reverse: bool = False,
) -> tuple[Tensor[Float], ...]:
    """(output, last states) of all steps.

    `weights` are those by the inputs and by the hidden state, then the two biases, if any.
    `projection` maps the hidden state of an lstm to the one that goes on.
    """
    weight_ih, weight_hh, *biases = weights
    bias_ih, bias_hh = biases or (None, None)
    num_steps = x.shape[0]
    by_input = linear(x, weight_ih, bias_ih)
    valid = None if lengths is None else valid_steps(lengths, num_steps)
    outputs: list[Any] = [None] * num_steps
    for step in reversed(range(num_steps)) if reverse else range(num_steps):
        by_hidden = linear(states[0], weight_hh, bias_hh)
        fresh = _CELLS[cell](by_input[step], by_hidden, states)
        if projection is not None:
            fresh[0] = linear(fresh[0], projection)
        if valid is not None:
            fresh = [where(valid[step], new, old) for new, old in zip(fresh, states, strict=True)]
        states = fresh
        outputs[step] = states[0] if valid is None else where(valid[step], states[0], 0.0)
    if not outputs:
        return (by_input[..., : states[0].shape[1]], *states)
    return (stack(outputs), *states)


def _tanh(by_input: Tensor[Float], by_hidden: Tensor[Float], states: Floats) -> Floats:
    return [(by_input + by_hidden).tanh()]


def _relu(by_input: Tensor[Float], by_hidden: Tensor[Float], states: Floats) -> Floats:
    return [(by_input + by_hidden).relu()]


def _lstm(by_input: Tensor[Float], by_hidden: Tensor[Float], states: Floats) -> Floats:
    both = by_input + by_hidden
    i, f, g, o = split(both, both.shape[1] // 4, axis=1)
    cell = f.sigmoid() * states[1] + i.sigmoid() * g.tanh()
    return [o.sigmoid() * cell.tanh(), cell]


def _gru(by_input: Tensor[Float], by_hidden: Tensor[Float], states: Floats) -> Floats:
    width = states[0].shape[1]
    by_r, by_z, by_n = split(by_input, width, axis=1)
    hidden_r, hidden_z, hidden_n = split(by_hidden, width, axis=1)
    r, z = (by_r + hidden_r).sigmoid(), (by_z + hidden_z).sigmoid()
    n = (by_n + r * hidden_n).tanh()
    return [n + z * (states[0] - n)]


_CELLS: dict[CellKind, Callable[[Tensor[Float], Tensor[Float], Floats], Floats]] = {
    "tanh": _tanh,
    "relu": _relu,
    "lstm": _lstm,
    "gru": _gru,
}
