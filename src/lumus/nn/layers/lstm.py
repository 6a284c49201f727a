"""LSTM: recurrent layers of long short-term memory."""

from __future__ import annotations

from lumus.core.dtypes import DType, float32
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.layers.recurrent import Lengths, RecurrentLayer
from lumus.ops.random.generator import Generator

States = tuple[Tensor[Float], Tensor[Float]]


class LSTM(RecurrentLayer):
    """Layers of ``c = f * c + i * g``, ``h = o * tanh(c)``, with gates from input and state.

    ``i, f, g, o`` are the four parts of ``weight_ih @ x[t] + bias_ih + weight_hh @ h + bias_hh``,
    after a sigmoid, of g after tanh. With `proj_size` the hidden state is ``weight_hr @ h`` (such
    layers run op by op, not in one native loop). Other arguments and `lengths` are those of `RNN`,
    whose documentation explains them; ``layer(x, (h, c))`` returns ``(output, (h, c))``.

    **Shapes.** As `RNN`; the cell state has hidden_size elements, the hidden state and the output
    proj_size if that is given.
    **Parameters.** As `RNN`, with four times the rows: for i, f, g and o; with `proj_size` also
    `weight_hr_lk` (proj_size, hidden_size).
    **Raises.** ArgumentError, ShapeError, KindError, DTypeError.

    Source: Hochreiter and Schmidhuber, "Long Short-Term Memory", Neural Computation 9(8), 1997;
    with the forget gate of Gers et al., 2000; projection: Sak et al., Interspeech 2014.

    >>> import lumus as lm
    >>> output, (hidden, cell) = lm.nn.LSTM(3, 8, batch_first=True)(lm.zeros((4, 5, 3)))
    >>> output.shape, hidden.shape, cell.shape
    ((4, 5, 8), (1, 4, 8), (1, 4, 8))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        dtype: DType[Float] = float32,
        generator: Generator | None = None,
    ) -> None:
        super().__init__(
            "lstm",
            input_size,
            hidden_size,
            num_layers,
            bias=bias,
            batch_first=batch_first,
            dropout=dropout,
            bidirectional=bidirectional,
            proj_size=proj_size,
            dtype=dtype,
            generator=generator,
        )

    def forward(
        self,
        x: Tensor[Float],
        states: States | None = None,
        *,
        lengths: Lengths | None = None,
    ) -> tuple[Tensor[Float], States]:
        output, (hidden, cell) = self._run(x, states, lengths)
        return output, (hidden, cell)
