"""The functions behind the layers and losses."""

from lumus.ops.attention.attention import scaled_dot_product_attention
from lumus.ops.embedding.embedding import embedding
from lumus.ops.embedding.one_hot import one_hot
from lumus.ops.linalg.linear import linear
from lumus.ops.loss.cross_entropy import cross_entropy, nll_loss
from lumus.ops.loss.mse_loss import mse_loss
from lumus.ops.random.dropout import dropout

__all__ = [
    "cross_entropy",
    "dropout",
    "embedding",
    "linear",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "scaled_dot_product_attention",
]
