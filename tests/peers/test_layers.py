"""Layers have PyTorch's keys, shapes and initial distributions, and give the same with one file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import lumus as lm  # noqa: E402
from lumus import nn  # noqa: E402

# (name, arguments, keyword arguments, shapes of inputs)
LAYERS: list[tuple[str, tuple[Any, ...], dict[str, Any], list[tuple[int, ...]]]] = [
    ("Linear", (20, 30), {}, [(4, 20)]),
    ("Linear", (20, 30), {"bias": False}, [(4, 20)]),
    ("Conv1d", (6, 8, 3), {"padding": 1, "groups": 2}, [(2, 6, 9)]),
    ("Conv2d", (6, 8, (3, 5)), {"stride": 2, "padding": "valid"}, [(2, 6, 9, 11)]),
    ("Conv2d", (6, 12, 3), {"padding": "same", "groups": 6}, [(2, 6, 9, 11)]),
    ("Conv2d", (3, 4, 3), {"padding": 1, "padding_mode": "reflect"}, [(2, 3, 6, 6)]),
    ("Conv3d", (4, 6, 3), {"dilation": 2}, [(1, 4, 7, 6, 6)]),
    ("ConvTranspose1d", (4, 6, 3), {"stride": 2, "output_padding": 1}, [(2, 4, 7)]),
    ("ConvTranspose2d", (4, 6, 3), {"stride": 2, "groups": 2}, [(2, 4, 5, 5)]),
    ("ConvTranspose3d", (4, 6, 2), {}, [(2, 4, 3, 3, 3)]),
    ("BatchNorm1d", (5,), {}, [(8, 5, 3)]),
    ("BatchNorm2d", (5,), {"momentum": None}, [(4, 5, 3, 3)]),
    ("BatchNorm3d", (5,), {"affine": False}, [(4, 5, 3, 3, 2)]),
    ("BatchNorm2d", (5,), {"track_running_stats": False}, [(4, 5, 3, 3)]),
    ("LayerNorm", (7,), {}, [(3, 4, 7)]),
    ("LayerNorm", ((4, 7),), {"bias": False}, [(3, 4, 7)]),
    ("GroupNorm", (2, 6), {}, [(3, 6, 4)]),
    ("InstanceNorm2d", (6,), {"affine": True}, [(3, 6, 4, 4)]),
    ("RMSNorm", (7,), {}, [(3, 4, 7)]),
    ("LocalResponseNorm", (3,), {}, [(2, 6, 4, 4)]),
    ("RNN", (5, 6), {"num_layers": 2, "bidirectional": True}, [(7, 3, 5)]),
    ("RNN", (5, 6), {"nonlinearity": "relu"}, [(7, 3, 5)]),
    ("LSTM", (5, 6), {"num_layers": 2, "bidirectional": True}, [(7, 3, 5)]),
    ("LSTM", (5, 6), {"batch_first": True, "bias": False}, [(3, 7, 5)]),
    ("GRU", (5, 6), {"num_layers": 2, "bidirectional": True}, [(7, 3, 5)]),
    ("LSTMCell", (5, 6), {}, [(3, 5)]),
    ("GRUCell", (5, 6), {}, [(3, 5)]),
    ("RNNCell", (5, 6), {}, [(3, 5)]),
    ("PReLU", (4,), {}, [(2, 4, 3)]),
    ("TransformerEncoderLayer", (8, 2, 16), {"dropout": 0.0, "batch_first": True}, [(2, 5, 8)]),
    (
        "TransformerEncoderLayer",
        (8, 2, 16),
        {"dropout": 0.0, "batch_first": True, "norm_first": True, "activation": "gelu"},
        [(2, 5, 8)],
    ),
    (
        "TransformerDecoderLayer",
        (8, 2, 16),
        {"dropout": 0.0, "batch_first": True},
        [(2, 5, 8), (2, 6, 8)],
    ),
    ("MultiheadAttention", (8, 2), {"batch_first": True}, [(2, 5, 8)] * 3),
    ("MultiheadAttention", (8, 2), {"kdim": 6, "vdim": 4}, [(5, 2, 8), (7, 2, 6), (7, 2, 4)]),
    ("MaxPool2d", (3,), {"stride": 2, "padding": 1}, [(2, 3, 7, 7)]),
    ("AvgPool2d", (3,), {"stride": 2, "padding": 1, "ceil_mode": True}, [(2, 3, 8, 8)]),
    ("AdaptiveAvgPool2d", ((3, 2),), {}, [(2, 3, 7, 7)]),
    ("AdaptiveMaxPool2d", (3,), {}, [(2, 3, 7, 8)]),
    ("Upsample", (), {"scale_factor": 2, "mode": "nearest"}, [(2, 3, 4, 5)]),
    (
        "Upsample",
        (),
        {"scale_factor": 2, "mode": "bilinear", "align_corners": True},
        [(2, 3, 4, 5)],
    ),
    ("PixelShuffle", (2,), {}, [(2, 8, 3, 3)]),
    ("Softplus", (), {"beta": 2.0}, [(3, 4)]),
    ("ELU", (), {"alpha": 0.5}, [(3, 4)]),
    ("Hardtanh", (-2.0, 0.5), {}, [(3, 4)]),
    ("GELU", (), {"approximate": "tanh"}, [(3, 4)]),
]


def label(case: Any) -> str:
    return f"{case[0]}{case[1]}{case[2]}"


def first_of(result: Any) -> Any:
    """The output of layers that return a state, too."""
    while isinstance(result, tuple | list):
        result = result[0]
    return result


@pytest.mark.parametrize("case", LAYERS, ids=label)
def test_state_passes_both_ways_and_gives_the_same_output(case: Any, tmp_path: Path) -> None:
    name, args, options, shapes = case
    ours, theirs = getattr(nn, name)(*args, **options), getattr(torch.nn, name)(*args, **options)
    mine = {key: np.asarray(value) for key, value in ours.state_dict().items()}
    other = {key: value.numpy() for key, value in theirs.state_dict().items()}
    assert list(mine) == list(other)
    assert {k: v.shape for k, v in mine.items()} == {k: v.shape for k, v in other.items()}
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]

    theirs.load_state_dict({key: torch.from_numpy(value.copy()) for key, value in mine.items()})
    _agree(ours, theirs, arrays)
    # And back: other values, by a file.
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    state = {key: lm.from_numpy(value.numpy()) for key, value in theirs.state_dict().items()}
    ours.load_state_dict(state)
    _agree(ours, theirs, arrays)


def _agree(ours: Any, theirs: Any, arrays: list[Any]) -> None:
    for training in (True, False):
        ours.train(training)
        theirs.train(training)
        y = first_of(ours(*[lm.from_numpy(one) for one in arrays]))
        z = first_of(theirs(*[torch.from_numpy(one) for one in arrays]))
        np.testing.assert_allclose(np.asarray(y.detach()), z.detach().numpy(), rtol=2e-4, atol=2e-5)
    for (key, mine), other in zip(
        ours.state_dict().items(), theirs.state_dict().values(), strict=True
    ):
        np.testing.assert_allclose(
            np.asarray(mine), other.numpy(), rtol=1e-4, atol=1e-6, err_msg=key
        )


LARGE = [
    ("Linear", (200, 300), {}),
    ("Conv2d", (32, 48, 3), {}),
    ("ConvTranspose2d", (32, 48, 3), {"groups": 2}),
    ("Embedding", (300, 100), {}),
    ("LSTM", (60, 80), {}),
    ("MultiheadAttention", (64, 4), {}),
]


@pytest.mark.parametrize("case", LARGE, ids=label)
def test_initial_values_are_distributed_as_in_pytorch(case: Any) -> None:
    name, args, options = case
    ours, theirs = getattr(nn, name)(*args, **options), getattr(torch.nn, name)(*args, **options)
    for (key, first), second in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        mine, other = np.asarray(first.detach()), second.detach().numpy()
        spread = float(other.std())
        few = max(0.02, 4.0 / np.sqrt(other.size))
        assert float(mine.std()) == pytest.approx(spread, rel=2 * few, abs=1e-8), key
        assert float(np.abs(mine).max()) == pytest.approx(
            float(np.abs(other).max()), rel=0.3, abs=1e-8
        ), key
