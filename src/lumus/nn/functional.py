"""The functions behind the layers and losses."""

from lumus.ops.attention.attention import scaled_dot_product_attention
from lumus.ops.attention.rotary_encoding import rotary_encoding
from lumus.ops.attention.sinusoidal_encoding import sinusoidal_encoding
from lumus.ops.conv.conv1d import conv1d
from lumus.ops.conv.conv2d import conv2d
from lumus.ops.conv.conv3d import conv3d
from lumus.ops.conv.conv_transpose1d import conv_transpose1d
from lumus.ops.conv.conv_transpose2d import conv_transpose2d
from lumus.ops.conv.conv_transpose3d import conv_transpose3d
from lumus.ops.conv.fold import fold
from lumus.ops.conv.unfold import unfold
from lumus.ops.embedding.embedding import embedding
from lumus.ops.embedding.embedding_bag import embedding_bag
from lumus.ops.embedding.one_hot import one_hot
from lumus.ops.linalg.cosine_similarity import cosine_similarity
from lumus.ops.linalg.linear import linear
from lumus.ops.linalg.pairwise_distance import pairwise_distance
from lumus.ops.loss.binary_cross_entropy import binary_cross_entropy
from lumus.ops.loss.binary_cross_entropy_with_logits import binary_cross_entropy_with_logits
from lumus.ops.loss.cosine_embedding_loss import cosine_embedding_loss
from lumus.ops.loss.cross_entropy import cross_entropy
from lumus.ops.loss.ctc_loss import ctc_loss
from lumus.ops.loss.gaussian_nll_loss import gaussian_nll_loss
from lumus.ops.loss.hinge_embedding_loss import hinge_embedding_loss
from lumus.ops.loss.huber_loss import huber_loss
from lumus.ops.loss.kl_div import kl_div
from lumus.ops.loss.l1_loss import l1_loss
from lumus.ops.loss.margin_ranking_loss import margin_ranking_loss
from lumus.ops.loss.mse_loss import mse_loss
from lumus.ops.loss.multi_margin_loss import multi_margin_loss
from lumus.ops.loss.multilabel_margin_loss import multilabel_margin_loss
from lumus.ops.loss.multilabel_soft_margin_loss import multilabel_soft_margin_loss
from lumus.ops.loss.nll_loss import nll_loss
from lumus.ops.loss.poisson_nll_loss import poisson_nll_loss
from lumus.ops.loss.smooth_l1_loss import smooth_l1_loss
from lumus.ops.loss.soft_margin_loss import soft_margin_loss
from lumus.ops.loss.triplet_margin_loss import triplet_margin_loss
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
from lumus.ops.pool.affine_grid import affine_grid
from lumus.ops.pool.avg_pool_nd import avg_pool1d, avg_pool2d, avg_pool3d
from lumus.ops.pool.grid_sample import grid_sample
from lumus.ops.pool.interpolate import interpolate
from lumus.ops.pool.lp_pool_nd import lp_pool1d, lp_pool2d, lp_pool3d
from lumus.ops.pool.max_pool_nd import max_pool1d, max_pool2d, max_pool3d
from lumus.ops.pool.max_unpool_nd import max_unpool1d, max_unpool2d, max_unpool3d
from lumus.ops.pool.pixel_shuffle import pixel_shuffle, pixel_unshuffle
from lumus.ops.random.dropout import dropout

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "affine_grid",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "dropout",
    "embedding",
    "embedding_bag",
    "fold",
    "gaussian_nll_loss",
    "grid_sample",
    "group_norm",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "linear",
    "local_response_norm",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pairwise_distance",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "rms_norm",
    "rotary_encoding",
    "scaled_dot_product_attention",
    "sinusoidal_encoding",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "unfold",
]
