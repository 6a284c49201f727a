"""RNN: recurrent layers of simple cells."""

from __future__ import annotations

from typing import Literal, cast

from lumus.core.argument import choice
from lumus.core.dtypes import DType, float32
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.nn.layers.recurrent import Lengths, RecurrentLayer
from lumus.ops.random.generator import Generator

Nonlinearity = Literal["tanh", "relu"]


def checked_nonlinearity(op: str, value: Nonlinearity) -> Nonlinearity:
    """The nonlinearity, or ArgumentError."""
    return cast("Nonlinearity", choice(op, "nonlinearity", value, ("tanh", "relu")))


class RNN(RecurrentLayer):
    """Layers of ``h = tanh(weight_ih @ x[t] + bias_ih + weight_hh @ h + bias_hh)``.

    Called as ``layer(x, state)`` it returns ``(output, last_state)``: the hidden state of the last
    layer at each step, and that of each layer after the last step. `lengths` says how many steps of
    each row count: beyond them the output is 0, the last state is that of the last step that
    counts, the reverse direction begins there, and what stands in `x` has no influence.

    **Shapes.** `x` (steps, batch, input_size), with ``batch_first=True`` (batch, steps,
    input_size), or (steps, input_size); the output accordingly with hidden_size, twice that if
    `bidirectional`, first the forward direction. States are (num_layers * directions, batch,
    hidden_size), without the batch for one row.
    **Parameters.** For layer k `weight_ih_lk` (hidden_size, inputs), `weight_hh_lk` (hidden_size,
    hidden_size), `bias_ih_lk` and `bias_hh_lk` (hidden_size,), and those of the other direction
    with ``_reverse``; all evenly spread over ``+-1 / sqrt(hidden_size)`` at first.
    **Training.** `dropout` is applied to what goes from one layer to the next.
    **Raises.** ArgumentError, ShapeError, KindError, DTypeError.

    >>> import lumus as lm
    >>> layer = lm.nn.RNN(3, 8, num_layers=2)
    >>> output, state = layer(lm.zeros((5, 4, 3)))
    >>> output.shape, state.shape
    ((5, 4, 8), (2, 4, 8))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        nonlinearity: Nonlinearity = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: DType[Float] = float32,
        generator: Generator | None = None,
    ) -> None:
        super().__init__(
            checked_nonlinearity("RNN", nonlinearity),
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

    def extra_repr(self) -> str:
        chosen = "" if self.cell == "tanh" else f", nonlinearity={self.cell!r}"
        return super().extra_repr() + chosen
