"""Every layer with a forward pass: two steps of training, compiled and eager, to the bit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus import nn

RANDOM = np.random.default_rng(0)


def floats(*shape: int) -> Any:
    return lm.tensor(RANDOM.normal(size=shape).astype(np.float32))


def shares(*shape: int) -> Any:
    return lm.tensor(RANDOM.uniform(0.05, 0.95, size=shape).astype(np.float32))


def signs(*shape: int) -> Any:
    return lm.tensor(np.where(RANDOM.normal(size=shape) > 0, 1.0, -1.0).astype(np.float32))


def classes(count: int, *shape: int) -> Any:
    return lm.tensor(RANDOM.integers(0, count, size=shape))


LINE, PLANE, SPACE, ROW = (2, 4, 12), (2, 4, 8, 8), (2, 4, 6, 6, 6), (5, 4)

# Name of the class, its arguments, its inputs.
LAYERS: list[tuple[str, tuple[Any, ...], dict[str, Any], tuple[Any, ...]]] = [
    *[(f"BatchNorm{n}d", (4,), {}, (floats(*s),)) for n, s in ((1, LINE), (2, PLANE), (3, SPACE))],
    ("BatchNorm1d", (4,), {"momentum": None}, (floats(*ROW),)),
    ("BatchNorm2d", (4,), {"affine": False, "track_running_stats": False}, (floats(*PLANE),)),
    *[
        (f"InstanceNorm{n}d", (4,), {"affine": True, "track_running_stats": True}, (floats(*s),))
        for n, s in ((1, LINE), (2, PLANE), (3, SPACE))
    ],
    ("GroupNorm", (2, 4), {}, (floats(*PLANE),)),
    ("LayerNorm", ((4, 12),), {}, (floats(*LINE),)),
    ("RMSNorm", (12,), {}, (floats(*LINE),)),
    ("LocalResponseNorm", (3,), {}, (floats(*PLANE),)),
    *[
        (name, (), {}, (floats(*ROW),))
        for name in (
            "CELU", "ELU", "GELU", "SELU", "Hardsigmoid", "Hardswish", "Hardtanh", "Identity",
            "LeakyReLU", "LogSigmoid", "Mish", "PReLU", "ReLU", "ReLU6", "SiLU", "Sigmoid",
            "Softplus", "Softshrink", "Softsign", "Tanh", "Softmax", "LogSoftmax", "Flatten",
        )
    ],
    ("GELU", ("tanh",), {}, (floats(*ROW),)),
    *[
        (name, (3, 4, 2), {"bidirectional": True, "dropout": 0.3}, (floats(6, 2, 3),))
        for name in ("GRU", "LSTM", "RNN")
    ],
    ("LSTM", (3, 4), {"batch_first": True, "proj_size": 2}, (floats(2, 6, 3),)),
    *[(name, (3, 4), {}, (floats(2, 3),)) for name in ("GRUCell", "LSTMCell", "RNNCell")],
    *[
        (f"{kind}{n}d", (3,), {}, (floats(*s),))
        for kind in ("AdaptiveAvgPool", "AdaptiveMaxPool", "AvgPool", "MaxPool")
        for n, s in ((1, LINE), (2, PLANE), (3, SPACE))
    ],
    ("MaxPool2d", (3, 2, 1), {"return_indices": True}, (floats(*PLANE),)),
    *[(f"LPPool{n}d", (2.0, 2), {}, (floats(*s),)) for n, s in ((1, LINE), (2, PLANE), (3, SPACE))],
    *[
        (f"Conv{n}d", (4, 6, 3, 2, 1), {"groups": 2}, (floats(*s),))
        for n, s in ((1, LINE), (2, PLANE), (3, SPACE))
    ],
    ("Conv2d", (4, 6, 3), {"padding": "same", "padding_mode": "reflect"}, (floats(*PLANE),)),
    *[
        (f"ConvTranspose{n}d", (4, 6, 3, 2, 1, 1), {}, (floats(*s),))
        for n, s in ((1, LINE), (2, PLANE), (3, SPACE))
    ],
    ("CosineSimilarity", (), {}, (floats(*ROW), floats(*ROW))),
    ("PairwiseDistance", (), {}, (floats(*ROW), floats(*ROW))),
    ("Dropout", (0.4,), {}, (floats(*ROW),)),
    ("Embedding", (7, 3), {"padding_idx": 2}, (classes(7, 4, 5),)),
    ("EmbeddingBag", (7, 3), {}, (classes(7, 4, 5),)),
    ("Fold", ((4, 5), 2), {}, (floats(2, 8, 12),)),
    ("Unfold", (2,), {}, (floats(*PLANE),)),
    ("Linear", (4, 3), {}, (floats(*ROW),)),
    ("PixelShuffle", (2,), {}, (floats(*PLANE),)),
    ("PixelUnshuffle", (2,), {}, (floats(*PLANE),)),
    ("Unflatten", (1, (2, 2)), {}, (floats(*ROW),)),
    ("Upsample", (None, 2.0, "bilinear"), {}, (floats(*PLANE),)),
    ("Upsample", (), {"size": (5, 3), "mode": "bicubic"}, (floats(*PLANE),)),
    ("MultiheadAttention", (8, 2), {"dropout": 0.2}, (floats(5, 2, 8),) * 3),
    ("TransformerEncoderLayer", (8, 2, 16), {}, (floats(5, 2, 8),)),
    ("TransformerDecoderLayer", (8, 2, 16), {}, (floats(5, 2, 8), floats(4, 2, 8))),
    ("Transformer", (8, 2, 1, 1, 16), {}, (floats(5, 2, 8), floats(4, 2, 8))),
    *[
        (name, (), {}, (floats(*ROW), floats(*ROW)))
        for name in ("HuberLoss", "L1Loss", "MSELoss", "SmoothL1Loss", "PoissonNLLLoss")
    ],
    ("BCELoss", (), {}, (shares(*ROW), shares(*ROW))),
    ("BCEWithLogitsLoss", (), {}, (floats(*ROW), shares(*ROW))),
    ("CosineEmbeddingLoss", (), {}, (floats(*ROW), floats(*ROW), signs(5))),
    ("CrossEntropyLoss", (), {"label_smoothing": 0.1}, (floats(*ROW), classes(4, 5))),
    ("CrossEntropyLoss", (), {"weight": shares(4)}, (floats(*ROW), classes(4, 5))),
    ("GaussianNLLLoss", (), {}, (floats(*ROW), floats(*ROW), shares(*ROW))),
    ("HingeEmbeddingLoss", (), {}, (floats(*ROW), signs(*ROW))),
    ("KLDivLoss", (), {"reduction": "batchmean"}, (floats(*ROW), shares(*ROW))),
    ("MarginRankingLoss", (), {}, (floats(5), floats(5), signs(5))),
    ("MultiLabelMarginLoss", (), {}, (floats(2, 4), lm.tensor([[3, 0, -1, 1], [2, -1, 0, 1]]))),
    ("MultiLabelSoftMarginLoss", (), {}, (floats(*ROW), shares(*ROW))),
    ("MultiMarginLoss", (), {}, (floats(*ROW), classes(4, 5))),
    ("NLLLoss", (), {"ignore_index": 0}, (floats(*ROW), classes(4, 5))),
    ("SoftMarginLoss", (), {}, (floats(*ROW), signs(*ROW))),
    ("TripletMarginLoss", (), {"swap": True}, (floats(*ROW), floats(*ROW), floats(*ROW))),
]  # fmt: skip

# Containers and bases have no forward pass of their own, unpooling takes what pooling gives, and
# the paths of CTC depend on the targets' values.
ELSEWHERE = {
    "Module", "ModuleDict", "ModuleList", "Parameter", "ParameterDict", "ParameterList",
    "Sequential", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "CTCLoss", "TransformerEncoder",
    "TransformerDecoder",
}  # fmt: skip


def trained(
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    inputs: tuple[Any, ...],
    how: Callable[[Any], Any],
) -> list[Any]:
    """Losses, gradients of the inputs, and the state of the layer after two steps."""
    lm.random.seed(11)
    layer = getattr(nn, name)(*args, **kwargs)
    parameters = [one for one in layer.parameters() if one.requires_grad]
    optimizer = lm.optim.SGD(parameters, lr=0.1, momentum=0.5) if parameters else None
    weights = np.random.default_rng(1)

    def step(*given: Any) -> Any:
        leaves = [
            one.detach().requires_grad_() if one.dtype.kind == "float" else one for one in given
        ]
        result = layer(*leaves)
        found = tensors_of(result)
        terms = [
            (one * weight).sum()
            for one, weight in zip(found, scales, strict=True)
            if one.dtype.kind == "float"
        ]
        loss = terms[0]
        for term in terms[1:]:
            loss = loss + term
        grads = loss.backward()
        slopes = [grads.get(one) for one in leaves if one.dtype.kind == "float"]
        if optimizer is not None:
            optimizer.step(grads)
        return loss.detach(), [one for one in slopes if one is not None], found[-1].detach()

    scales = [
        lm.tensor(weights.normal(size=one.shape).astype(np.float32))
        for one in tensors_of(layer(*inputs))
    ]
    lm.random.seed(12)
    run = how(step)
    seen = [run(*inputs) for _ in range(2)]
    values = [
        [loss.tolist(), [s.tolist() for s in slopes], last.tolist()] for loss, slopes, last in seen
    ]
    return [*values, {key: value.tolist() for key, value in layer.state_dict().items()}]


def tensors_of(result: Any) -> list[Any]:
    if isinstance(result, lm.Tensor):
        return [result]
    return [one for part in result if part is not None for one in tensors_of(part)]


@pytest.mark.parametrize(
    "case", LAYERS, ids=[f"{number}-{name}" for number, (name, *_) in enumerate(LAYERS)]
)
def test_compiled_layer_trains_as_eagerly(case: Any) -> None:
    eager, compiled = trained(*case, lambda step: step), trained(*case, lm.compile)
    np.testing.assert_equal(compiled, eager)


def test_every_layer_is_tried() -> None:
    named = {name for name, *_ in LAYERS}
    assert not named & ELSEWHERE
    assert named | ELSEWHERE == {name for name in nn.__all__ if isinstance(getattr(nn, name), type)}
