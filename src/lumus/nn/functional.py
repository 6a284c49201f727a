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
from lumus.ops.linalg.pairwise_distance import pairwise_distance
from lumus.ops.loss.cross_entropy import cross_entropy, nll_loss
from lumus.ops.loss.mse_loss import mse_loss
from lumus.ops.norm.batch_norm import batch_norm
from lumus.ops.norm.group_norm import group_norm
from lumus.ops.norm.instance_norm import instance_norm
from lumus.ops.norm.layer_norm import layer_norm
from lumus.ops.norm.local_response_norm import local_response_norm
from lumus.ops.norm.normalize import normalize
from lumus.ops.norm.rms_norm import rms_norm
from lumus.ops.pool.adaptive_avg_pool_nd import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
)
from lumus.ops.pool.adaptive_max_pool_nd import (
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
)
from lumus.ops.pool.avg_pool_nd import avg_pool1d, avg_pool2d, avg_pool3d
from lumus.ops.pool.interpolate import interpolate
from lumus.ops.pool.lp_pool_nd import lp_pool1d, lp_pool2d, lp_pool3d
from lumus.ops.pool.max_pool_nd import max_pool1d, max_pool2d, max_pool3d
from lumus.ops.pool.max_unpool_nd import max_unpool1d, max_unpool2d, max_unpool3d
from lumus.ops.pool.pixel_shuffle import pixel_shuffle, pixel_unshuffle
from lumus.ops.random.dropout import dropout

__all__ = [
    "batch_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "normalize",
    "rms_norm",
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
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
    "interpolate",
    "linear",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "pairwise_distance",
    "pixel_shuffle",
    "pixel_unshuffle",
    "scaled_dot_product_attention",
    "unfold",
]
