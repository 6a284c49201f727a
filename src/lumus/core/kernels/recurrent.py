"""The part of the kernel vocabulary that runs the steps of recurrent layers."""

from __future__ import annotations

from typing import Literal

from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel

CellKind = Literal["tanh", "relu", "lstm", "gru"]

NUM_GATES: dict[CellKind, int] = {"tanh": 1, "relu": 1, "lstm": 4, "gru": 3}


@frozen
class Recurrent(Kernel):
    """Of (x, first states, weight_ih, weight_hh[, bias_ih, bias_hh][, lengths]) all steps of a
    layer.

    The states are (hidden,), of an lstm (hidden, cell). Gives (output, last states), and of lstm
    and gru besides (gates, memory): the activated gates, and the cell states or what the reset gate
    scales. Steps from a row's length on give 0 and leave the state; `reverse` runs from the end.
    """

    cell: CellKind
    reverse: bool
    has_bias: bool
    has_lengths: bool


@frozen
class RecurrentGrad(Kernel):
    """Of (grad_output, grads of last states, output[, gates, memory], first states, weight_hh[,
    lengths]) the gradients of the gates, before they are activated, and of the first states.

    Of a gru those of the products with the hidden state come second.
    """

    cell: CellKind
    reverse: bool
    has_lengths: bool
