"""TransformerDecoderLayer: attention to itself and to a memory, then a network."""

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


class TransformerDecoderLayer(Module):
    """An encoder layer with attention to `memory`, `multihead_attn`, between its two halves.

    ``x = norm1(x + self_attn(x)); x = norm2(x + multihead_attn(x, memory, memory)); x = norm3(x +
    linear2(activation(linear1(x))))``; with `norm_first` the norms stand inside the sums.

    **Shapes.** `x` (batch, L, d_model) and `memory` (batch, S, d_model), or with the batch on axis
    1 unless `batch_first`, or without it, give the shape of `x`; masks as in MultiheadAttention.
    **Parameters.** Those of `self_attn`, `multihead_attn`, `linear1` (to `dim_feedforward`),
    `linear2`, `norm1`, `norm2`, `norm3`.
    **Raises.** ArgumentError for sizes that are not positive or do not fit.

    Source: Vaswani et al., "Attention Is All You Need", NeurIPS 2017.

    >>> import lumus as lm
    >>> layer = lm.nn.TransformerDecoderLayer(8, 2, 32, batch_first=True)
    >>> layer(lm.zeros((3, 5, 8)), lm.zeros((3, 4, 8)), is_causal=True).shape
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
        self.activation = activation_of("TransformerDecoderLayer", activation)
        self.norm_first = flag("TransformerDecoderLayer", "norm_first", norm_first)
        self.self_attn, self.multihead_attn = (
            MultiheadAttention(
                d_model,
                nhead,
                dropout,
                bias=bias,
                batch_first=batch_first,
                dtype=dtype,
                generator=generator,
            )
            for _ in range(2)
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, dtype=dtype, generator=generator)
        self.dropout = Dropout(dropout, generator=generator)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, dtype=dtype, generator=generator)
        self.norm1, self.norm2, self.norm3 = (
            LayerNorm(d_model, eps=layer_norm_eps, bias=bias, dtype=dtype) for _ in range(3)
        )
        self.dropout1, self.dropout2, self.dropout3 = (
            Dropout(dropout, generator=generator) for _ in range(3)
        )

    def forward(
        self,
        x: Tensor[Float],
        memory: Tensor[Float],
        mask: Tensor[Bool] | Tensor[Float] | None = None,
        memory_mask: Tensor[Bool] | Tensor[Float] | None = None,
        *,
        key_mask: Tensor[Bool] | Tensor[Float] | None = None,
        memory_key_mask: Tensor[Bool] | Tensor[Float] | None = None,
        is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor[Float]:
        def attended(x: Tensor[Float]) -> Tensor[Float]:
            y, _ = self.self_attn(x, x, x, mask, key_mask=key_mask, is_causal=is_causal)
            return self.dropout1(y)

        def remembered(x: Tensor[Float]) -> Tensor[Float]:
            y, _ = self.multihead_attn(
                x,
                memory,
                memory,
                memory_mask,
                key_mask=memory_key_mask,
                is_causal=memory_is_causal,
            )
            return self.dropout2(y)

        if self.norm_first:
            x = x + attended(self.norm1(x))
            x = x + remembered(self.norm2(x))
            return x + self._fed_forward(self.norm3(x))
        x = self.norm1(x + attended(x))
        x = self.norm2(x + remembered(x))
        return self.norm3(x + self._fed_forward(x))

    def _fed_forward(self, x: Tensor[Float]) -> Tensor[Float]:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))
