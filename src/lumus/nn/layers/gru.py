"""GRU: recurrent layers of gated units."""

from __future__ import annotations

from lumus.core.dtypes import DType, float32
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.layers.recurrent import Lengths, RecurrentLayer
from lumus.ops.random.generator import Generator


class GRU(RecurrentLayer):
    """Layers of ``h = (1 - z) * n + z * h``, with gates from the input and the state before.

    With ``p = weight_ih @ x[t] + bias_ih`` and ``q = weight_hh @ h + bias_hh``, each cut in three:
    ``r = sigmoid(p_r + q_r)``, ``z = sigmoid(p_z + q_z)``, ``n = tanh(p_n + r * q_n)``. Arguments,
    states and `lengths` are those of `RNN`, whose documentation explains them.

    **Shapes.** As `RNN`.
    **Parameters.** As `RNN`, with three times the rows: for r, z and n.
    **Raises.** ArgumentError, ShapeError, KindError, DTypeError.

    Source: Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder", EMNLP 2014;
    the reset gate scales the product, as in cuDNN.

    >>> import lumus as lm
    >>> layer = lm.nn.GRU(3, 8, bidirectional=True)
    >>> output, state = layer(lm.zeros((5, 4, 3)), lengths=[5, 2, 3, 0])
    >>> output.shape, state.shape
    ((5, 4, 16), (2, 4, 8))
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
        dtype: DType[Float] = float32,
        generator: Generator | None = None,
    ) -> None:
        super().__init__(
            "gru",
            input_size,
            hidden_size,
            num_layers,
            bias=bias,
            batch_first=batch_first,
            dropout=dropout,
            bidirectional=bidirectional,
            dtype=dtype,
            generator=generator,
        )

    def forward(
        self,
        x: Tensor[Float],
        state: Tensor[Float] | None = None,
        *,
        lengths: Lengths | None = None,
    ) -> tuple[Tensor[Float], Tensor[Float]]:
        output, (last,) = self._run(x, None if state is None else (state,), lengths)
        return output, last
