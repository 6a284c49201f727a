"""The steps of recurrent layers on the native kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lumus import _native
from lumus.core import recurrent_kernels as k
from lumus.core.device import Run
from lumus.core.dtypes import float32, int64, is_half
from lumus.core.kernels import Kernel
from lumus.core.spec import Spec
from lumus.devices.cpu.blas import ensure_blas

Specs = tuple[Spec, ...]

_CELLS: dict[k.CellKind, int] = {"tanh": 0, "relu": 1, "lstm": 2, "gru": 3}


def _dense(data: Any) -> Any:
    return data if data.is_contiguous else _native.copy(data)


def _taken(data: tuple[Any, ...], inputs: Specs) -> list[Any]:
    """The arrays as the native loop takes them: dense, half types as float32, lengths as int64."""
    taken: list[Any] = []
    for one, spec in zip(data, inputs, strict=True):
        wanted = float32 if is_half(spec.dtype) else spec.dtype
        if spec.dtype.kind == "int":
            wanted = int64
        taken.append(_dense(one) if wanted is spec.dtype else _native.cast(one, wanted.code))
    return taken


def _given(results: tuple[Any, ...], outputs: Specs) -> tuple[Any, ...]:
    """The results in the dtypes of the outputs."""
    return tuple(
        one if one.dtype == spec.dtype.code else _native.cast(one, spec.dtype.code)
        for one, spec in zip(results, outputs, strict=True)
    )


def _recurrent(kernel: k.Recurrent, inputs: Specs, outputs: Specs) -> Run:
    ensure_blas()
    cell, num_states = _CELLS[kernel.cell], 2 if kernel.cell == "lstm" else 1
    steps, batch, features = inputs[0].shape
    is_simple = k.NUM_GATES[kernel.cell] == 1
    width = k.NUM_GATES[kernel.cell] * inputs[1].shape[1]

    def run(*data: Any) -> tuple[Any, ...]:
        x, hidden, *rest = _taken(data, inputs)
        lengths = rest.pop() if kernel.has_lengths else None
        state = rest.pop(0) if num_states == 2 else None
        weight_ih, weight_hh, *biases = rest
        bias_ih, bias_hh = biases if kernel.has_bias else (None, None)
        product = _native.matmul(x.reshape((steps * batch, features)), weight_ih.permute((1, 0)))
        gates = product.reshape((steps, batch, width))
        made = _native.recurrent(
            cell, gates, weight_hh, hidden, state, bias_ih, bias_hh, lengths, kernel.reverse
        )
        if not is_simple:
            made = (*made[:-1], gates, made[-1])
        return _given(made, outputs)

    return run


def _recurrent_grad(kernel: k.RecurrentGrad, inputs: Specs, outputs: Specs) -> Run:
    cell = _CELLS[kernel.cell]
    is_simple, has_cell = k.NUM_GATES[kernel.cell] == 1, kernel.cell == "lstm"

    def run(*data: Any) -> tuple[Any, ...]:
        taken = _taken(data, inputs)
        lengths = taken.pop() if kernel.has_lengths else None
        weight = taken.pop()
        first_cell = taken.pop() if has_cell else None
        first_hidden = taken.pop()
        memory = None if is_simple else taken.pop()
        gates = taken.pop()
        output = gates if is_simple else taken.pop()
        # These change, from the gradients of the last states to those of the first.
        grad_output, *grads = taken
        grads = [_native.copy(one) for one in grads]
        made = _native.recurrent_grad(
            cell,
            grad_output,
            gates,
            output,
            memory,
            weight,
            first_hidden,
            first_cell,
            lengths,
            grads[0],
            grads[1] if has_cell else None,
            kernel.reverse,
        )
        return _given((*made, *grads), outputs)

    return run


TABLE: dict[type[Kernel], Callable[[Any, Specs, Specs], Run]] = {
    k.Recurrent: _recurrent,
    k.RecurrentGrad: _recurrent_grad,
}
