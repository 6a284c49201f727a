"""Recurrent layers: one direction of one layer, each row and step by itself from the definition."""

from collections.abc import Iterable
from typing import Any

import numpy as np

import lumus as lm
from lumus.core.kernels.recurrent import NUM_GATES, CellKind
from lumus.ops.recurrent.recurrent import recurrent
from lumus.testing.op_spec import Case, OpSpec, Source


def run(lengths: Any, x: Any, *rest: Any, cell: CellKind, reverse: bool, has_lengths: bool) -> Any:
    count = 2 if cell == "lstm" else 1
    return recurrent(
        cell,
        x,
        list(rest[:count]),
        list(rest[count:]),
        lengths=lengths if has_lengths else None,
        reverse=reverse,
    )


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def one_step(cell: CellKind, p: Any, q: Any, states: list[Any]) -> list[Any]:
    """The states of one row after a step, from its two products."""
    width = len(states[0])
    if cell == "tanh":
        return [np.tanh(p + q)]
    if cell == "relu":
        return [np.maximum(p + q, 0)]
    p, q = p.reshape(-1, width), q.reshape(-1, width)
    if cell == "lstm":
        in_, forget, candidate, out = p + q
        state = sigmoid(forget) * states[1] + sigmoid(in_) * np.tanh(candidate)
        return [sigmoid(out) * np.tanh(state), state]
    keep = sigmoid(p[1] + q[1])
    fresh = np.tanh(p[2] + sigmoid(p[0] + q[0]) * q[2])
    return [(1 - keep) * fresh + keep * states[0]]


def formula(
    lengths: Any, x: Any, *rest: Any, cell: CellKind, reverse: bool, has_lengths: bool
) -> Any:
    count = 2 if cell == "lstm" else 1
    firsts, weights = rest[:count], [*rest[count:], 0.0, 0.0]
    steps, batch, _ = x.shape
    if not has_lengths:
        lengths = [steps] * batch
    output, lasts = np.zeros((steps, *firsts[0].shape)), [first.copy() for first in firsts]
    for row in range(batch):
        states = [first[row] for first in firsts]
        order = range(lengths[row])
        for step in reversed(order) if reverse else order:
            p, q = weights[0] @ x[step, row] + weights[2], weights[1] @ states[0] + weights[3]
            states = one_step(cell, np.broadcast_to(p, q.shape), q, states)
            output[step, row] = states[0]
        for last, state in zip(lasts, states, strict=True):
            last[row] = state
    return [output, *lasts]


def layer(
    source: Source,
    cell: CellKind,
    sizes: tuple[int, int, int, int],
    *,
    reverse: bool = False,
    has_bias: bool = True,
    has_lengths: bool = False,
) -> Case:
    steps, batch, features, hidden = sizes
    rows, count = NUM_GATES[cell] * hidden, 2 if cell == "lstm" else 1
    shapes = [(steps, batch, features), *[(batch, hidden)] * count, (rows, features)]
    shapes += [(rows, hidden), *([(rows,), (rows,)] if has_bias else [])]
    inputs = [source.draw(shape) / 3 for shape in shapes]
    lengths = source.random.integers(0, steps + 1, batch)
    lengths[:1] = steps
    kwargs = {"cell": cell, "reverse": reverse, "has_lengths": has_lengths}
    return Case(f"{sizes}, bias {has_bias}, {kwargs}", (lengths, *inputs), kwargs)


def cases(source: Source) -> Iterable[Case]:
    for cell in NUM_GATES:
        yield layer(source, cell, (3, 2, 3, 2))
        yield layer(source, cell, (3, 3, 1, 3), reverse=True, has_lengths=True)
        yield layer(source, cell, (2, 3, 2, 1), has_bias=False, has_lengths=True)
    yield layer(source, "lstm", (2, 3, 2, 3), reverse=True, has_bias=False)
    yield layer(source, "gru", (1, 17, 2, 19))
    yield layer(source, "gru", (0, 2, 3, 2))
    yield layer(source, "lstm", (2, 0, 3, 2), has_lengths=True)
    yield layer(source, "tanh", (2, 2, 0, 2), reverse=True)


SPECS = [
    OpSpec(
        name="recurrent",
        function=run,
        formula=formula,
        cases=cases,
        dtypes=(lm.float64, lm.float32, lm.float16, lm.bfloat16),
        fixed=(0,),
        absolute=True,
        tolerance=4,
        covers=("recurrent_grad",),
    ),
]
