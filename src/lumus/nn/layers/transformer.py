"""Transformer: an encoder and a decoder."""

from __future__ import annotations

from typing import Any

from lumus.core.dtypes import DType, float32
from lumus.core.kinds import Bool, Float
from lumus.core.tensor import Tensor
from lumus.nn.init import xavier_uniform
from lumus.nn.layers.layer_norm import LayerNorm
from lumus.nn.layers.transformer_decoder import TransformerDecoder
from lumus.nn.layers.transformer_decoder_layer import TransformerDecoderLayer
from lumus.nn.layers.transformer_encoder import TransformerEncoder
from lumus.nn.layers.transformer_encoder_layer import TransformerEncoderLayer
from lumus.nn.module import Module
from lumus.nn.transformer_parts import Activation
from lumus.ops.random.generator import Generator


class Transformer(Module):
    """`encoder` of a source, whose result is the memory of a `decoder` of a target.

    **Shapes.** `source` (S, batch, d_model) and `target` (L, batch, d_model) give the shape of
    `target`; the batch is in front with `batch_first`, or left out.
    **Parameters.** Those of `encoder` and `decoder`, each with a last norm; matrices are evenly
    spread by Glorot's rule.
    **Raises.** ArgumentError for sizes that are not positive or do not fit.

    Source: Vaswani et al., "Attention Is All You Need", NeurIPS 2017.

    >>> import lumus as lm
    >>> model = lm.nn.Transformer(8, 2, 1, 1, 32)
    >>> model(lm.zeros((5, 3, 8)), lm.zeros((4, 3, 8)), is_causal=True).shape
    (4, 3, 8)
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
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
        sizes = (d_model, nhead, dim_feedforward, dropout, activation)
        options: dict[str, Any] = {
            "layer_norm_eps": layer_norm_eps,
            "batch_first": batch_first,
            "norm_first": norm_first,
            "bias": bias,
            "dtype": dtype,
            "generator": generator,
        }
        encoder_layer = TransformerEncoderLayer(*sizes, **options)
        decoder_layer = TransformerDecoderLayer(*sizes, **options)
        norms = [LayerNorm(d_model, eps=layer_norm_eps, bias=bias, dtype=dtype) for _ in range(2)]
        self.encoder = TransformerEncoder(encoder_layer, num_encoder_layers, norms[0])
        self.decoder = TransformerDecoder(decoder_layer, num_decoder_layers, norms[1])
        for parameter in self.parameters():
            if parameter.ndim > 1:
                drawn = xavier_uniform(parameter.shape, dtype=dtype, generator=generator)
                parameter.detach().copy_(drawn)

    def forward(
        self,
        source: Tensor[Float],
        target: Tensor[Float],
        *,
        source_mask: Tensor[Bool] | Tensor[Float] | None = None,
        mask: Tensor[Bool] | Tensor[Float] | None = None,
        memory_mask: Tensor[Bool] | Tensor[Float] | None = None,
        source_key_mask: Tensor[Bool] | Tensor[Float] | None = None,
        key_mask: Tensor[Bool] | Tensor[Float] | None = None,
        is_causal: bool = False,
    ) -> Tensor[Float]:
        memory = self.encoder(source, source_mask, key_mask=source_key_mask)
        return self.decoder(
            target,
            memory,
            mask,
            memory_mask,
            key_mask=key_mask,
            memory_key_mask=source_key_mask,
            is_causal=is_causal,
        )
