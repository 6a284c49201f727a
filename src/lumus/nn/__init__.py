"""Layers and what they are made of."""

from lumus.nn import functional, init
from lumus.nn.layers.adaptive_avg_pool import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
)
from lumus.nn.layers.adaptive_max_pool import (
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
)
from lumus.nn.layers.avg_pool import AvgPool1d, AvgPool2d, AvgPool3d
from lumus.nn.layers.batch_norm1d import BatchNorm1d
from lumus.nn.layers.batch_norm2d import BatchNorm2d
from lumus.nn.layers.batch_norm3d import BatchNorm3d
from lumus.nn.layers.bce_loss import BCELoss
from lumus.nn.layers.bce_with_logits_loss import BCEWithLogitsLoss
from lumus.nn.layers.celu import CELU
from lumus.nn.layers.conv1d import Conv1d
from lumus.nn.layers.conv2d import Conv2d
from lumus.nn.layers.conv3d import Conv3d
from lumus.nn.layers.conv_transpose1d import ConvTranspose1d
from lumus.nn.layers.conv_transpose2d import ConvTranspose2d
from lumus.nn.layers.conv_transpose3d import ConvTranspose3d
from lumus.nn.layers.cosine_embedding_loss import CosineEmbeddingLoss
from lumus.nn.layers.cosine_similarity import CosineSimilarity
from lumus.nn.layers.cross_entropy_loss import CrossEntropyLoss
from lumus.nn.layers.ctc_loss import CTCLoss
from lumus.nn.layers.dropout import Dropout
from lumus.nn.layers.elu import ELU
from lumus.nn.layers.embedding import Embedding
from lumus.nn.layers.embedding_bag import EmbeddingBag
from lumus.nn.layers.flatten import Flatten
from lumus.nn.layers.fold import Fold
from lumus.nn.layers.gaussian_nll_loss import GaussianNLLLoss
from lumus.nn.layers.gelu import GELU
from lumus.nn.layers.group_norm import GroupNorm
from lumus.nn.layers.gru import GRU
from lumus.nn.layers.gru_cell import GRUCell
from lumus.nn.layers.hardsigmoid import Hardsigmoid
from lumus.nn.layers.hardswish import Hardswish
from lumus.nn.layers.hardtanh import Hardtanh
from lumus.nn.layers.hinge_embedding_loss import HingeEmbeddingLoss
from lumus.nn.layers.huber_loss import HuberLoss
from lumus.nn.layers.identity import Identity
from lumus.nn.layers.instance_norm1d import InstanceNorm1d
from lumus.nn.layers.instance_norm2d import InstanceNorm2d
from lumus.nn.layers.instance_norm3d import InstanceNorm3d
from lumus.nn.layers.kl_div_loss import KLDivLoss
from lumus.nn.layers.l1_loss import L1Loss
from lumus.nn.layers.layer_norm import LayerNorm
from lumus.nn.layers.leaky_relu import LeakyReLU
from lumus.nn.layers.linear import Linear
from lumus.nn.layers.local_response_norm import LocalResponseNorm
from lumus.nn.layers.log_softmax import LogSoftmax
from lumus.nn.layers.logsigmoid import LogSigmoid
from lumus.nn.layers.lp_pool import LPPool1d, LPPool2d, LPPool3d
from lumus.nn.layers.lstm import LSTM
from lumus.nn.layers.lstm_cell import LSTMCell
from lumus.nn.layers.margin_ranking_loss import MarginRankingLoss
from lumus.nn.layers.max_pool import MaxPool1d, MaxPool2d, MaxPool3d
from lumus.nn.layers.max_unpool import MaxUnpool1d, MaxUnpool2d, MaxUnpool3d
from lumus.nn.layers.mish import Mish
from lumus.nn.layers.module_dict import ModuleDict
from lumus.nn.layers.module_list import ModuleList
from lumus.nn.layers.mse_loss import MSELoss
from lumus.nn.layers.multi_margin_loss import MultiMarginLoss
from lumus.nn.layers.multihead_attention import MultiheadAttention
from lumus.nn.layers.multilabel_margin_loss import MultiLabelMarginLoss
from lumus.nn.layers.multilabel_soft_margin_loss import MultiLabelSoftMarginLoss
from lumus.nn.layers.nll_loss import NLLLoss
from lumus.nn.layers.pairwise_distance import PairwiseDistance
from lumus.nn.layers.parameter_dict import ParameterDict
from lumus.nn.layers.parameter_list import ParameterList
from lumus.nn.layers.pixel_shuffle import PixelShuffle
from lumus.nn.layers.pixel_unshuffle import PixelUnshuffle
from lumus.nn.layers.poisson_nll_loss import PoissonNLLLoss
from lumus.nn.layers.prelu import PReLU
from lumus.nn.layers.relu import ReLU
from lumus.nn.layers.relu6 import ReLU6
from lumus.nn.layers.rms_norm import RMSNorm
from lumus.nn.layers.rnn import RNN
from lumus.nn.layers.rnn_cell import RNNCell
from lumus.nn.layers.selu import SELU
from lumus.nn.layers.sequential import Sequential
from lumus.nn.layers.sigmoid import Sigmoid
from lumus.nn.layers.silu import SiLU
from lumus.nn.layers.smooth_l1_loss import SmoothL1Loss
from lumus.nn.layers.soft_margin_loss import SoftMarginLoss
from lumus.nn.layers.softmax import Softmax
from lumus.nn.layers.softplus import Softplus
from lumus.nn.layers.softshrink import Softshrink
from lumus.nn.layers.softsign import Softsign
from lumus.nn.layers.tanh import Tanh
from lumus.nn.layers.transformer import Transformer
from lumus.nn.layers.transformer_decoder import TransformerDecoder
from lumus.nn.layers.transformer_decoder_layer import TransformerDecoderLayer
from lumus.nn.layers.transformer_encoder import TransformerEncoder
from lumus.nn.layers.transformer_encoder_layer import TransformerEncoderLayer
from lumus.nn.layers.triplet_margin_loss import TripletMarginLoss
from lumus.nn.layers.unflatten import Unflatten
from lumus.nn.layers.unfold import Unfold
from lumus.nn.layers.upsample import Upsample
from lumus.nn.module import Module, Parameter

__all__ = [
    "TransformerEncoderLayer",
    "TransformerEncoder",
    "TransformerDecoderLayer",
    "TransformerDecoder",
    "Transformer",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "GroupNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "LocalResponseNorm",
    "RMSNorm",
    "CELU",
    "ELU",
    "GELU",
    "GRU",
    "LSTM",
    "RNN",
    "SELU",
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "CosineSimilarity",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "EmbeddingBag",
    "Flatten",
    "Fold",
    "GRUCell",
    "GaussianNLLLoss",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "Identity",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "KLDivLoss",
    "L1Loss",
    "LSTMCell",
    "LeakyReLU",
    "Linear",
    "LogSigmoid",
    "LogSoftmax",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
    "MSELoss",
    "MarginRankingLoss",
    "Mish",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "MultiheadAttention",
    "NLLLoss",
    "PReLU",
    "PairwiseDistance",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "PixelShuffle",
    "PixelUnshuffle",
    "PoissonNLLLoss",
    "RNNCell",
    "ReLU",
    "ReLU6",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "Softmax",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "TripletMarginLoss",
    "Unflatten",
    "Unfold",
    "Upsample",
    "functional",
    "init",
]
