"""The steps of recurrent layers and their gradients, written out; all in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lumus.core import kernels as k
from lumus.core.kernels.kernel import Kernel
from lumus.core.spec import Spec
from lumus.devices.reference.arrays import widened
from lumus.devices.reference.scalar import Array


def _sigmoid(x: Array) -> Array:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * x)))


def _steps(count: int, reverse: bool) -> list[int]:
    return list(range(count))[::-1] if reverse else list(range(count))


def _valid(lengths: Array | None, step: int, batch: int) -> Array:
    """Which rows count at a step, as a column."""
    return np.ones((batch, 1), bool) if lengths is None else (step < lengths)[:, None]


def recurrent(
    kernel: k.Recurrent, arrays: Sequence[Array], outputs: Sequence[Spec]
) -> tuple[Array, ...]:
    """Step by step: the gates of all units, then the new states of the rows that count."""
    x, *rest = map(widened, arrays)
    lengths = rest.pop() if kernel.has_lengths else None
    states = [rest.pop(0) for _ in range(2 if kernel.cell == "lstm" else 1)]
    weight_ih, weight_hh, *biases = rest
    bias_ih, bias_hh = biases if kernel.has_bias else (0.0, 0.0)
    num_steps, batch, _ = x.shape
    results = [np.zeros((num_steps, *state.shape)) for state in (states[0], states[0])]
    output, memory = results
    gates = np.zeros((num_steps, batch, weight_hh.shape[0]))
    for step in _steps(num_steps, kernel.reverse):
        valid = _valid(lengths, step, batch)
        by_input = x[step] @ weight_ih.T + bias_ih
        by_hidden = states[0] @ weight_hh.T + bias_hh
        fresh, kept, extra = _step(kernel.cell, by_input, by_hidden, states)
        states = [np.where(valid, new, old) for new, old in zip(fresh, states, strict=True)]
        output[step] = np.where(valid, states[0], 0.0)
        gates[step] = np.where(valid, kept, 0.0)
        memory[step] = states[1] if kernel.cell == "lstm" else np.where(valid, extra, 0.0)
    if k.NUM_GATES[kernel.cell] == 1:
        return (output, *states)
    return (output, *states, gates, memory)


def _step(
    cell: k.CellKind, by_input: Array, by_hidden: Array, states: list[Array]
) -> tuple[list[Array], Array, Array]:
    """The new states, the activated gates, and what the reset gate of a gru scales."""
    if cell in ("tanh", "relu"):
        both = by_input + by_hidden
        hidden = np.tanh(both) if cell == "tanh" else np.where(both <= 0, 0.0, both)
        return [hidden], hidden, hidden
    if cell == "lstm":
        i, f, g, o = np.split(by_input + by_hidden, 4, axis=1)
        i, f, g, o = _sigmoid(i), _sigmoid(f), np.tanh(g), _sigmoid(o)
        state = f * states[1] + i * g
        return [o * np.tanh(state), state], np.concatenate([i, f, g, o], axis=1), state
    (r, z, n), (by_r, by_z, by_n) = np.split(by_input, 3, axis=1), np.split(by_hidden, 3, axis=1)
    r, z = _sigmoid(r + by_r), _sigmoid(z + by_z)
    n = np.tanh(n + r * by_n)
    return [(1 - z) * n + z * states[0]], np.concatenate([r, z, n], axis=1), by_n


def recurrent_grad(
    kernel: k.RecurrentGrad, arrays: Sequence[Array], outputs: Sequence[Spec]
) -> tuple[Array, ...]:
    """The steps backwards: what each state's gradient makes of the gates and the state before."""
    given = list(map(widened, arrays))
    num_states = 2 if kernel.cell == "lstm" else 1
    lengths = given.pop() if kernel.has_lengths else None
    weight = given.pop()
    first = given[-num_states:]
    grad_output, *grads = given[: 1 + num_states]
    output, *kept = given[1 + num_states : -num_states]
    gates, memory = kept or (output, output)
    num_steps, batch, _ = output.shape
    by_input, by_hidden = np.zeros(gates.shape), np.zeros(gates.shape)
    previous = list(first)
    # The states before each step, in the order of the steps.
    before: dict[int, list[Array]] = {}
    for step in _steps(num_steps, kernel.reverse):
        before[step] = previous
        hidden = np.where(_valid(lengths, step, batch), output[step], previous[0])
        previous = [hidden, memory[step]][:num_states]
    for step in _steps(num_steps, not kernel.reverse):
        valid = _valid(lengths, step, batch)
        grad = np.where(valid, grads[0] + grad_output[step], 0.0)
        parts = _step_grad(kernel.cell, grad, grads, gates[step], memory[step], before[step])
        by_input[step] = np.where(valid, parts[0], 0.0)
        by_hidden[step] = np.where(valid, parts[1], 0.0)
        passed = [parts[2] + by_hidden[step] @ weight, *parts[3:]]
        grads = [np.where(valid, new, old) for new, old in zip(passed, grads, strict=True)]
    return (by_input, by_hidden, *grads) if kernel.cell == "gru" else (by_input, *grads)


def _step_grad(
    cell: k.CellKind,
    grad: Array,
    grads: list[Array],
    gates: Array,
    memory: Array,
    before: list[Array],
) -> tuple[Array, ...]:
    """The gradients of the gates (by inputs, by the state) and of the states before, but for what
    passes by the gates.
    """
    nothing = np.zeros_like(grad)
    if cell == "tanh":
        by_gates = grad * (1 - gates**2)
        return by_gates, by_gates, nothing
    if cell == "relu":
        by_gates = np.where(gates > 0, grad, 0.0)
        return by_gates, by_gates, nothing
    if cell == "lstm":
        i, f, g, o = np.split(gates, 4, axis=1)
        squashed = np.tanh(memory)
        state = grads[1] + grad * o * (1 - squashed**2)
        by_gates = np.concatenate(
            [
                state * g * i * (1 - i),
                state * before[1] * f * (1 - f),
                state * i * (1 - g**2),
                grad * squashed * o * (1 - o),
            ],
            axis=1,
        )
        return by_gates, by_gates, nothing, state * f
    r, z, n = np.split(gates, 3, axis=1)
    by_n = grad * (1 - z) * (1 - n**2)
    by_z = grad * (before[0] - n) * z * (1 - z)
    by_r = by_n * memory * r * (1 - r)
    by_inputs = np.concatenate([by_r, by_z, by_n], axis=1)
    return by_inputs, np.concatenate([by_r, by_z, by_n * r], axis=1), grad * z


TABLE: dict[type[Kernel], Callable[[Any, Sequence[Array], Any], Any]] = {
    k.Recurrent: recurrent,
    k.RecurrentGrad: recurrent_grad,
}
