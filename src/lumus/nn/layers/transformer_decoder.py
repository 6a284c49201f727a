"""TransformerDecoder: decoder layers one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

from lumus.core.kinds import Bool, Float
from lumus.core.tensor import Tensor
from lumus.nn.layers.module_list import ModuleList
from lumus.nn.layers.transformer_decoder_layer import TransformerDecoderLayer
from lumus.nn.module import Module
from lumus.nn.transformer_parts import copies_of


class TransformerDecoder(Module):
    """`num_layers` copies of a layer, one after the other, then `norm` if there is one.

    The copies have parameters of their own, which begin as those of `decoder_layer`: alike. Give
    ``layers`` others where that is not wanted.

    **Shapes.** As the layer; each gets the memory and the masks.
    **Parameters.** Those of ``layers.0``, ``layers.1``, ... and `norm`.
    **Raises.** ArgumentError for what is no decoder layer, or a negative number.

    >>> import lumus as lm
    >>> decoder = lm.nn.TransformerDecoder(lm.nn.TransformerDecoderLayer(8, 2, 32), 2)
    >>> decoder(lm.zeros((5, 3, 8)), lm.zeros((4, 3, 8))).shape
    (5, 3, 8)
    """

    def __init__(
        self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None
    ) -> None:
        self.layers = ModuleList(
            copies_of("TransformerDecoder", decoder_layer, num_layers, TransformerDecoderLayer)
        )
        self.norm = norm

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
        for layer in cast("Iterable[TransformerDecoderLayer]", self.layers):
            x = layer(
                x,
                memory,
                mask,
                memory_mask,
                key_mask=key_mask,
                memory_key_mask=memory_key_mask,
                is_causal=is_causal,
                memory_is_causal=memory_is_causal,
            )
        norm = cast("Callable[[Tensor[Float]], Tensor[Float]] | None", self.norm)
        return x if norm is None else norm(x)
