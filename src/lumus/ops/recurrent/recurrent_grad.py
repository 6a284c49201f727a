"""recurrent_grad: the steps of a recurrent layer backwards."""

from __future__ import annotations

from lumus.core.dtypes import float32, is_half
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.recurrent import NUM_GATES, CellKind, RecurrentGrad
from lumus.core.op import Op, Specs, register


@frozen
class RecurrentGradAttrs:
    """The cell, the direction, and whether there are lengths."""

    cell: CellKind
    reverse: bool
    has_lengths: bool


@register
class RecurrentGradOp(Op):
    """Of (grad_output, grads of last states, output[, gates, memory], first states, weight_hh[,
    lengths]): the gradients of the gates (of a gru also of their part by the hidden state) and of
    the first states. Its inputs are what the `recurrent` op made of its own.
    """

    name = "recurrent_grad"
    attrs = RecurrentGradAttrs
    differentiable = False
    reason = "while gradients are recorded, those of recurrent are computed from plain ops"

    def infer(self, specs: Specs, attrs: RecurrentGradAttrs) -> Specs:
        num_states = 2 if attrs.cell == "lstm" else 1
        states = specs[1 : 1 + num_states]
        if NUM_GATES[attrs.cell] == 1:
            output = specs[1 + num_states]
            return (output.with_dtype(float32) if is_half(output.dtype) else output, *states)
        gates = specs[2 + num_states]
        return (gates, gates, *states) if attrs.cell == "gru" else (gates, *states)

    def kernel(self, specs: Specs, attrs: RecurrentGradAttrs) -> Kernel:
        return RecurrentGrad(attrs.cell, attrs.reverse, attrs.has_lengths)
