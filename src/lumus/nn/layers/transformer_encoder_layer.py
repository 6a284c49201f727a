"""TransformerEncoderLayer: attention of a sequence to itself, then a network for each position."""

from __future__ import annotations

from lumus.core.argument import flag
from lumus.core.dtypes import DType, float32
from lumus.core.kinds import Bool, Float
from lumus.core.tensor import Tensor
from lumus.nn.layers.dropout import Dropout
from lumus.nn.layers.layer_norm import LayerNorm
from lumus.nn.layers.linear import Linear
from lumus.nn.layers.multihead_attention import MultiheadAttention
from lumus.nn.module import Module
from lumus.nn.transformer_parts import Activation, activation_of
from lumus.ops.random.generator import Generator


class TransformerEncoderLayer(Module):
    """``x = norm1(x + self_attn(x)); x = norm2(x + linear2(activation(linear1(x))))``.

    With `norm_first` the norms stand before the attention and the network, inside the sums; dropout
    follows the attention, the activation and the network.

    **Shapes.** (batch, L, d_model), or (L, batch, d_model) unless `batch_first`, or without the
    batch, gives the same; masks as in MultiheadAttention.
    **Parameters.** Those of `self_attn`, `linear1` (to `dim_feedforward`), `linear2`, `norm1`,
    `norm2`.
    **Raises.** ArgumentError for sizes that are not positive or do not fit.

    Source: Vaswani et al., "Attention Is All You Need", NeurIPS 2017.

    >>> import lumus as lm
    >>> layer = lm.nn.TransformerEncoderLayer(8, 2, 32, batch_first=True)
    >>> layer(lm.zeros((3, 5, 8)), is_causal=True).shape
    (3, 5, 8)
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = "relu",
        *,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        dtype: DType[Float] = float32,
        generator: Generator | None = None,
    ) -> None:
        self.activation = activation_of("TransformerEncoderLayer", activation)
        self.norm_first = flag("TransformerEncoderLayer", "norm_first", norm_first)
        self.self_attn = MultiheadAttention(
            d_model,
            nhead,
            dropout,
            bias=bias,
            batch_first=batch_first,
            dtype=dtype,
            generator=generator,
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, dtype=dtype, generator=generator)
        self.dropout = Dropout(dropout, generator=generator)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, dtype=dtype, generator=generator)
        self.norm1, self.norm2 = (
            LayerNorm(d_model, eps=layer_norm_eps, bias=bias, dtype=dtype) for _ in range(2)
        )
        self.dropout1, self.dropout2 = (Dropout(dropout, generator=generator) for _ in range(2))

    def forward(
        self,
        x: Tensor[Float],
        mask: Tensor[Bool] | Tensor[Float] | None = None,
        *,
        key_mask: Tensor[Bool] | Tensor[Float] | None = None,
        is_causal: bool = False,
    ) -> Tensor[Float]:
        def attended(x: Tensor[Float]) -> Tensor[Float]:
            y, _ = self.self_attn(x, x, x, mask, key_mask=key_mask, is_causal=is_causal)
            return self.dropout1(y)

        if self.norm_first:
            x = x + attended(self.norm1(x))
            return x + self._fed_forward(self.norm2(x))
        x = self.norm1(x + attended(x))
        return self.norm2(x + self._fed_forward(x))

    def _fed_forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))
