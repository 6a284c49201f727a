"""RNNCell: one step of a simple recurrent layer."""

from __future__ import annotations

from lumus.core.dtypes import DType, float32
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.layers.recurrent import RecurrentCellModule
from lumus.nn.layers.rnn import Nonlinearity, checked_nonlinearity
from lumus.ops.random.generator import Generator


class RNNCell(RecurrentCellModule):
    """One step: ``h = tanh(weight_ih @ x + bias_ih + weight_hh @ h + bias_hh)``, or relu of it.

    **Shapes.** `x` (batch, input_size) or (input_size,); the state, zeros unless given, and the
    result accordingly with hidden_size.
    **Parameters.** `weight_ih` (hidden_size, input_size), `weight_hh` (hidden_size, hidden_size),
    `bias_ih` and `bias_hh` (hidden_size,), all evenly spread over ``+-1 / sqrt(hidden_size)``.
    **Raises.** ArgumentError, ShapeError, KindError, DTypeError.

    >>> import lumus as lm
    >>> lm.nn.RNNCell(3, 8)(lm.zeros((4, 3))).shape
    (4, 8)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        bias: bool = True,
        nonlinearity: Nonlinearity = "tanh",
        dtype: DType[Float] = float32,
        generator: Generator | None = None,
    ) -> None:
        cell = checked_nonlinearity("RNNCell", nonlinearity)
        super().__init__(cell, input_size, hidden_size, bias, dtype, generator)

    def forward(self, x: Tensor[Float], state: Tensor[Float] | None = None) -> Tensor[Float]:
        (after,) = self._step(x, None if state is None else (state,))
        return after

    def extra_repr(self) -> str:
        chosen = "" if self.cell == "tanh" else f", nonlinearity={self.cell!r}"
        return super().extra_repr() + chosen
