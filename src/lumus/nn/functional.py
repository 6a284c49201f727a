"""The functions behind the layers and losses."""

from lumus.ops.attention.attention import scaled_dot_product_attention
from lumus.ops.conv.conv1d import conv1d
from lumus.ops.conv.conv2d import conv2d
from lumus.ops.conv.conv3d import conv3d
from lumus.ops.conv.conv_transpose1d import conv_transpose1d
from lumus.ops.conv.conv_transpose2d import conv_transpose2d
from lumus.ops.conv.conv_transpose3d import conv_transpose3d
from lumus.ops.conv.fold import fold
from lumus.ops.conv.unfold import unfold
from lumus.ops.embedding.embedding import embedding
from lumus.ops.embedding.one_hot import one_hot
from lumus.ops.linalg.cosine_similarity import cosine_similarity
from lumus.ops.linalg.linear import linear
from lumus.ops.loss.cross_entropy import cross_entropy, nll_loss
from lumus.ops.loss.mse_loss import mse_loss
from lumus.ops.random.dropout import dropout

__all__ = [
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_similarity",
    "cross_entropy",
    "dropout",
    "embedding",
    "fold",
    "linear",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "scaled_dot_product_attention",
    "unfold",
]
