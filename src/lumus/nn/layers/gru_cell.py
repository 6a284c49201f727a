"""GRUCell: one step of a layer of gated recurrent units."""

from __future__ import annotations

from lumus.core.dtypes import DType, float32
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.layers.recurrent import RecurrentCellModule
from lumus.ops.random.generator import Generator


class GRUCell(RecurrentCellModule):
    """One step of `GRU`: ``h = (1 - z) * n + z * h``.

    **Shapes.** As `RNNCell`.
    **Parameters.** As `RNNCell`, with three times the rows: for r, z and n.
    **Raises.** ArgumentError, ShapeError, KindError, DTypeError.

    >>> import lumus as lm
    >>> cell, state = lm.nn.GRUCell(3, 8), lm.zeros((4, 8))
    >>> for x in lm.zeros((5, 4, 3)):
    ...     state = cell(x, state)
    >>> state.shape
    (4, 8)
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
        super().__init__("gru", input_size, hidden_size, bias, dtype, generator)

    def forward(self, x: Tensor[Float], state: Tensor[Float] | None = None) -> Tensor[Float]:
        (after,) = self._step(x, None if state is None else (state,))
        return after
