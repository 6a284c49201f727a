"""LSTMCell: one step of a layer of long short-term memory."""

from __future__ import annotations

from lumus.core.dtypes import DType, float32
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.layers.recurrent import RecurrentCellModule
from lumus.ops.random.generator import Generator

States = tuple[Tensor[Float], Tensor[Float]]


class LSTMCell(RecurrentCellModule):
    """One step of `LSTM`: ``c = f * c + i * g``, ``h = o * tanh(c)``; returns ``(h, c)``.

    **Shapes.** As `RNNCell`, with two states.
    **Parameters.** As `RNNCell`, with four times the rows: for i, f, g and o.
    **Raises.** ArgumentError, ShapeError, KindError, DTypeError.

    >>> import lumus as lm
    >>> hidden, cell = lm.nn.LSTMCell(3, 8)(lm.zeros((4, 3)))
    >>> hidden.shape, cell.shape
    ((4, 8), (4, 8))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        bias: bool = True,
        dtype: DType[Float] = float32,
        generator: Generator | None = None,
    ) -> None:
        super().__init__("lstm", input_size, hidden_size, bias, dtype, generator)

    def forward(self, x: Tensor[Float], states: States | None = None) -> States:
        hidden, cell = self._step(x, states)
        return hidden, cell
