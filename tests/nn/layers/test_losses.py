"""Layers of losses: the function with the options they keep, their buffers, their text."""

from typing import Any

import pytest

import lumus as lm
from lumus import nn
from lumus.errors import ArgumentError
from lumus.nn import functional

X = lm.tensor([[0.2, 0.9, 0.4], [0.7, 0.1, 0.6]])
Y = lm.tensor([[0.5, 0.3, 0.8], [0.6, 0.2, 0.9]])
Z = lm.tensor([[0.1, 0.4, 0.2], [0.9, 0.8, 0.3]])
W = lm.tensor([1.0, 2.0, 0.5])
CLASSES = lm.tensor([2, 0])
SIGNS = lm.tensor([1, -1])
MATRIX = lm.tensor([[1, -1, 1], [-1, -1, 1]])

CASES: tuple[tuple[Any, str, tuple[Any, ...], dict[str, Any]], ...] = (
    (nn.BCELoss, "binary_cross_entropy", (X, Y), {"weight": W}),
    (nn.BCEWithLogitsLoss, "binary_cross_entropy_with_logits", (X, Y), {"pos_weight": W}),
    (nn.CosineEmbeddingLoss, "cosine_embedding_loss", (X, Y, SIGNS), {"margin": 0.1}),
    (nn.CrossEntropyLoss, "cross_entropy", (X, CLASSES), {"weight": W, "label_smoothing": 0.1}),
    (nn.CrossEntropyLoss, "cross_entropy", (X, CLASSES), {"ignore_index": 2}),
    (nn.CTCLoss, "ctc_loss", (X.reshape(2, 1, 3), lm.tensor([[1]]), [2], [1]), {"blank": 2}),
    (nn.GaussianNLLLoss, "gaussian_nll_loss", (X, Y, Z), {"full": True, "eps": 0.3}),
    (nn.HingeEmbeddingLoss, "hinge_embedding_loss", (X, MATRIX), {"margin": 0.5}),
    (nn.HuberLoss, "huber_loss", (X, Y), {"delta": 0.1}),
    (nn.KLDivLoss, "kl_div", (X, Y), {"log_target": True}),
    (nn.L1Loss, "l1_loss", (X, Y), {}),
    (nn.MarginRankingLoss, "margin_ranking_loss", (X, Y, MATRIX), {"margin": 0.2}),
    (nn.MSELoss, "mse_loss", (X, Y), {}),
    (nn.MultiLabelMarginLoss, "multilabel_margin_loss", (X, MATRIX), {}),
    (nn.MultiLabelSoftMarginLoss, "multilabel_soft_margin_loss", (X, Y), {"weight": W}),
    (nn.MultiMarginLoss, "multi_margin_loss", (X, CLASSES), {"p": 2, "margin": 0.3}),
    (nn.NLLLoss, "nll_loss", (X, CLASSES), {"ignore_index": 2}),
    (nn.PoissonNLLLoss, "poisson_nll_loss", (X, Y), {"log_input": False, "eps": 0.1}),
    (nn.SmoothL1Loss, "smooth_l1_loss", (X, Y), {"beta": 0.1}),
    (nn.SoftMarginLoss, "soft_margin_loss", (X, MATRIX), {}),
    (nn.TripletMarginLoss, "triplet_margin_loss", (X, Y, Z), {"p": 1.0, "swap": True}),
)


@pytest.mark.parametrize(("kind", "name", "inputs", "options"), CASES)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_layer_is_the_function_with_its_options(
    kind: Any, name: str, inputs: Any, options: Any, reduction: str
) -> None:
    found = kind(**options, reduction=reduction)(*inputs)
    want = getattr(functional, name)(*inputs, **options, reduction=reduction)
    assert found.tolist() == want.tolist()


@pytest.mark.parametrize("kind", {case[0] for case in CASES})
def test_unknown_reduction_is_told_when_the_layer_is_made(kind: Any) -> None:
    with pytest.raises(ArgumentError, match=rf"{kind.__name__}: reduction must be 'mean', 'sum'"):
        kind(reduction="median")


def test_distances_are_layers_too() -> None:
    assert nn.CosineSimilarity(axis=0)(X, Y).shape == (3,)
    assert nn.PairwiseDistance(p=1.0, keepdims=True)(X, Y).shape == (2, 1)


def test_batchmean_is_a_reduction_of_kl_div_alone() -> None:
    loss = nn.KLDivLoss(reduction="batchmean")
    assert loss(X, Y).item() == pytest.approx(nn.KLDivLoss(reduction="sum")(X, Y).item() / 2)


def test_weights_are_buffers_as_in_pytorch() -> None:
    loss = nn.BCEWithLogitsLoss(weight=W, pos_weight=2 * W)
    assert list(loss.state_dict()) == ["weight", "pos_weight"]
    assert loss.parameters() == []
    assert list(nn.CrossEntropyLoss().state_dict()) == []
    trained = nn.CrossEntropyLoss(weight=nn.Parameter(W))
    assert [one.requires_grad for one in trained.buffers()] == [False]


def test_text_shows_what_is_unusual() -> None:
    assert repr(nn.MSELoss()) == "MSELoss()"
    assert repr(nn.MSELoss(reduction="sum")) == "MSELoss(reduction='sum')"
    loss = nn.CrossEntropyLoss(weight=W, ignore_index=-1)
    assert repr(loss) == "CrossEntropyLoss(ignore_index=-1)"
