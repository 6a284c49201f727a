"""TransformerEncoder: encoder layers one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

from lumus.core.kinds import Bool, Float
from lumus.core.tensor import Tensor
from lumus.nn.layers.module_list import ModuleList
from lumus.nn.layers.transformer_encoder_layer import TransformerEncoderLayer
from lumus.nn.module import Module
from lumus.nn.transformer_parts import copies_of


class TransformerEncoder(Module):
    """`num_layers` copies of a layer, one after the other, then `norm` if there is one.

    The copies have parameters of their own, which begin as those of `encoder_layer`: alike. Give
    ``layers`` others where that is not wanted.

    **Shapes.** As the layer; each gets the masks.
    **Parameters.** Those of ``layers.0``, ``layers.1``, ... and `norm`.
    **Raises.** ArgumentError for what is no encoder layer, or a negative number.

    >>> import lumus as lm
    >>> layer = lm.nn.TransformerEncoderLayer(8, 2, 32)
    >>> lm.nn.TransformerEncoder(layer, 2)(lm.zeros((5, 3, 8))).shape
    (5, 3, 8)
    """

    def __init__(
        self, encoder_layer: TransformerEncoderLayer, num_layers: int, norm: Module | None = None
    ) -> None:
        self.layers = ModuleList(
            copies_of("TransformerEncoder", encoder_layer, num_layers, TransformerEncoderLayer)
        )
        self.norm = norm

    def forward(
        self,
        x: Tensor[Float],
        mask: Tensor[Bool] | Tensor[Float] | None = None,
        *,
        key_mask: Tensor[Bool] | Tensor[Float] | None = None,
        is_causal: bool = False,
    ) -> Tensor[Float]:
        for layer in cast("Iterable[TransformerEncoderLayer]", self.layers):
            x = layer(x, mask, key_mask=key_mask, is_causal=is_causal)
        norm = cast("Callable[[Tensor[Float]], Tensor[Float]] | None", self.norm)
        return x if norm is None else norm(x)
