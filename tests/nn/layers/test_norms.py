"""Normalisation layers: parameters, buffers, modes, running statistics, errors."""

import numpy as np
import pytest

import lumus as lm
from lumus import nn
from lumus.errors import (
    ArgumentError,
    GradientError,
    KindError,
    RecordedWriteError,
    SavedTensorMutatedError,
    ShapeError,
    StateError,
)
from lumus.nn import functional


def normal(shape, seed=0, dtype=lm.float32):
    return lm.random.normal(shape, dtype=dtype, generator=lm.random.Generator(seed))


BATCH_NORMS = [
    (nn.BatchNorm1d, (6, 3)),
    (nn.BatchNorm1d, (6, 3, 4)),
    (nn.BatchNorm2d, (5, 3, 2, 4)),
    (nn.BatchNorm3d, (4, 3, 2, 2, 3)),
]
INSTANCE_NORMS = [
    (nn.InstanceNorm1d, (6, 3, 4)),
    (nn.InstanceNorm2d, (5, 3, 2, 4)),
    (nn.InstanceNorm3d, (4, 3, 2, 2, 3)),
]


# ---- state -------------------------------------------------------------------------------------

TRACKED = ["running_mean", "running_var", "num_batches_tracked"]


@pytest.mark.parametrize(
    ("layer", "names"),
    [
        (nn.BatchNorm1d(3), ["weight", "bias", *TRACKED]),
        (nn.BatchNorm2d(3, affine=False), TRACKED),
        (nn.BatchNorm3d(3, track_running_stats=False), ["weight", "bias"]),
        (nn.InstanceNorm1d(3), []),
        (nn.InstanceNorm2d(3, affine=True), ["weight", "bias"]),
        (nn.InstanceNorm3d(3, affine=True, track_running_stats=True), ["weight", "bias", *TRACKED]),
        (nn.LayerNorm((2, 3)), ["weight", "bias"]),
        (nn.LayerNorm(3, bias=False), ["weight"]),
        (nn.LayerNorm(3, elementwise_affine=False), []),
        (nn.RMSNorm(3), ["weight"]),
        (nn.RMSNorm(3, elementwise_affine=False), []),
        (nn.GroupNorm(1, 3), ["weight", "bias"]),
        (nn.GroupNorm(1, 3, affine=False), []),
        (nn.LocalResponseNorm(2), []),
    ],
    ids=str,
)
def test_state_has_the_names_of_pytorch_and_the_initial_values(layer, names):
    state = layer.state_dict()
    assert list(state) == names
    for name, value in state.items():
        first = 1 if name in ("weight", "running_var") else 0
        assert np.all(value.numpy() == first)
        wanted = () if name == "num_batches_tracked" else (2, 3) if value.ndim == 2 else (3,)
        assert value.shape == wanted
        assert value.dtype is (lm.int64 if name == "num_batches_tracked" else lm.float32)
    assert [name for name, _ in layer.named_buffers()] == [n for n in names if n in TRACKED]


def test_state_of_a_trained_layer_can_be_loaded():
    trained, fresh = nn.BatchNorm1d(3), nn.BatchNorm1d(3)
    trained(normal((8, 3)))
    fresh.load_state_dict(trained.state_dict())
    assert fresh.num_batches_tracked.item() == 1
    np.testing.assert_array_equal(fresh.running_var.numpy(), trained.running_var.numpy())
    with pytest.raises(StateError, match="missing: running_mean, running_var, num_batches"):
        fresh.load_state_dict({"weight": trained.weight, "bias": trained.bias})


def test_dtype_is_that_of_parameters_and_running_statistics():
    layer = nn.BatchNorm1d(3, dtype=lm.float64)
    y = layer(normal((4, 3), dtype=lm.float64))
    assert y.dtype is lm.float64
    assert {value.dtype for value in layer.state_dict().values()} == {lm.float64, lm.int64}


# ---- running statistics ------------------------------------------------------------------------


@pytest.mark.parametrize(("layer_class", "shape"), BATCH_NORMS, ids=str)
def test_batch_norm_moves_its_statistics_in_training_and_uses_them_in_evaluation(
    layer_class, shape
):
    layer = layer_class(3, momentum=0.25)
    mean, var = np.zeros(3), np.ones(3)
    axes = (0, *range(2, len(shape)))
    for seed in range(3):
        x = normal(shape, seed) + 1.0
        layer(x)
        mean = 0.75 * mean + 0.25 * x.numpy().mean(axis=axes)
        var = 0.75 * var + 0.25 * x.numpy().var(axis=axes, ddof=1)
    np.testing.assert_allclose(layer.running_mean.numpy(), mean, rtol=1e-5)
    np.testing.assert_allclose(layer.running_var.numpy(), var, rtol=1e-5)
    assert layer.num_batches_tracked.item() == 3
    layer.eval()
    x = normal(shape, 9)
    wide = (1, 3) + (1,) * (len(shape) - 2)
    expected = (x.numpy() - mean.reshape(wide)) / np.sqrt(var.reshape(wide) + 1e-5)
    np.testing.assert_allclose(layer(x).detach().numpy(), expected, rtol=1e-4, atol=1e-6)
    assert layer(x[:1]).shape == (1, *shape[1:])
    assert layer.num_batches_tracked.item() == 3


def test_no_momentum_is_the_average_of_all_batches():
    layer = nn.BatchNorm1d(2, momentum=None)
    batches = [normal((5, 2), seed) for seed in range(4)]
    for x in batches:
        layer(x)
    means = np.mean([x.numpy().mean(axis=0) for x in batches], axis=0)
    variances = np.mean([x.numpy().var(axis=0, ddof=1) for x in batches], axis=0)
    np.testing.assert_allclose(layer.running_mean.numpy(), means, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(layer.running_var.numpy(), variances, rtol=1e-5)


def test_without_running_statistics_the_batch_normalises_in_both_modes():
    layer, x = nn.BatchNorm1d(2, track_running_stats=False), normal((5, 2))
    np.testing.assert_array_equal(layer(x).detach().numpy(), layer.eval()(x).detach().numpy())


@pytest.mark.parametrize(("layer_class", "shape"), INSTANCE_NORMS, ids=str)
def test_instance_norm_normalises_each_channel_of_each_example(layer_class, shape):
    x = normal(shape)
    y = layer_class(3)(x).numpy().reshape(shape[0], 3, -1)
    np.testing.assert_allclose(y.mean(axis=2), np.zeros((shape[0], 3)), atol=1e-6)
    np.testing.assert_allclose(y.var(axis=2), np.ones((shape[0], 3)), rtol=1e-2)
    one = layer_class(3)(x[0])
    np.testing.assert_array_equal(one.numpy().reshape(3, -1), y[0])


@pytest.mark.parametrize(("layer_class", "shape"), INSTANCE_NORMS, ids=str)
def test_instance_norm_tracks_the_mean_of_the_examples_statistics(layer_class, shape):
    layer, x = layer_class(3, track_running_stats=True, momentum=0.5), normal(shape) + 2.0
    layer(x)
    values = x.numpy().reshape(shape[0], 3, -1)
    mean = 0.5 * values.mean(axis=(0, 2))
    var = 0.5 + 0.5 * values.var(axis=2, ddof=1).mean(axis=0)
    np.testing.assert_allclose(layer.running_mean.numpy(), mean, rtol=1e-5)
    np.testing.assert_allclose(layer.running_var.numpy(), var, rtol=1e-5)
    wide = (1, 3) + (1,) * (len(shape) - 2)
    expected = (x.numpy() - mean.reshape(wide)) / np.sqrt(var.reshape(wide) + 1e-5)
    np.testing.assert_allclose(layer.eval()(x).numpy(), expected, rtol=1e-4, atol=1e-6)


def test_running_statistics_of_halves_are_measured_in_float32():
    x = (normal((64, 2)) * 4.0 + 100.0).astype(lm.float16)
    mean, var = lm.zeros((2,)), lm.ones((2,))
    y = functional.batch_norm(x, mean, var, momentum=1.0)
    assert y.dtype is lm.float16
    np.testing.assert_allclose(mean.numpy(), x.astype(lm.float32).numpy().mean(axis=0), rtol=1e-6)
    expected = x.astype(lm.float32).numpy().var(axis=0, ddof=1)
    np.testing.assert_allclose(var.numpy(), expected, rtol=1e-5)


def test_the_graph_of_evaluation_notices_statistics_that_move():
    layer, x = nn.BatchNorm1d(2).eval(), normal((4, 2)).requires_grad_()
    loss = layer(x).sum()
    layer.train()(normal((4, 2)))
    with pytest.raises(SavedTensorMutatedError, match="batch_norm"):
        loss.backward()


def test_two_training_passes_before_backward_are_fine():
    layer = nn.BatchNorm1d(2)
    losses = [layer(normal((4, 2), seed)).square().sum() for seed in range(2)]
    store = (losses[0] + losses[1]).backward()
    assert store[layer.weight].shape == (2,)


# ---- dtypes ------------------------------------------------------------------------------------


def test_dtypes_promote_and_gradients_come_back_in_their_own():
    x = normal((4, 3)).astype(lm.bfloat16).requires_grad_()
    weight = lm.ones((3,), requires_grad=True)
    y = functional.layer_norm(x, 3, weight)
    assert y.dtype is lm.float32
    store = y.backward(lm.ones((4, 3)))
    assert store[x].dtype is lm.bfloat16
    assert store[weight].dtype is lm.float32


def test_a_bias_alone_is_added():
    x, bias = normal((4, 3)), lm.tensor([1.0, 2.0, 3.0])
    expected = functional.layer_norm(x, 3).numpy() + bias.numpy()
    np.testing.assert_allclose(functional.layer_norm(x, 3, None, bias).numpy(), expected, atol=1e-6)
    with pytest.raises(ShapeError, match=r"weight must have shape \(3,\)"):
        functional.layer_norm(x, 3, None, lm.zeros((4, 3)))


def test_rms_norm_without_eps_takes_that_of_the_dtype():
    for dtype, eps in ((lm.float64, 2.0**-52), (lm.float32, 2.0**-23), (lm.float16, 2.0**-10)):
        x = lm.tensor([2.0**-12, 0.0]).astype(dtype)
        expected = 2.0**-12 / np.sqrt(2.0**-25 + eps)
        np.testing.assert_allclose(functional.rms_norm(x, 2)[0].item(), expected, rtol=1e-3)


# ---- errors ------------------------------------------------------------------------------------

X = lm.zeros((4, 6, 5))
NAN = float("nan")


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: functional.layer_norm(X, (6, 4)), ShapeError, r"the last axes must be \(6, 4\)"),
        (lambda: functional.layer_norm(X, ()), ShapeError, "at least one axis"),
        (lambda: functional.layer_norm(X, 5, eps=-1.0), ArgumentError, "eps must not be negative"),
        (
            lambda: functional.layer_norm(X, 5, eps=NAN),
            ArgumentError,
            "eps must be finite",
        ),
        (
            lambda: functional.layer_norm(X, 5, lm.zeros((4,))),
            ShapeError,
            r"must have shape \(5,\)",
        ),
        (lambda: functional.layer_norm(X.astype(lm.int64), 5), KindError, "kind Float"),
        (lambda: functional.rms_norm(X, 4), ShapeError, "rms_norm"),
        (lambda: functional.group_norm(X, 4), ShapeError, "6 channels cannot be cut into 4"),
        (lambda: functional.group_norm(X, 0), ArgumentError, "must be positive"),
        (lambda: functional.group_norm(lm.zeros((3,)), 1), ShapeError, "batch, channels"),
        (lambda: functional.batch_norm(lm.zeros((3,))), ShapeError, "batch, channels"),
        (lambda: functional.batch_norm(X, training=False), ArgumentError, "running statistics"),
        (lambda: functional.batch_norm(X, lm.zeros((6,))), ArgumentError, "both of"),
        (
            lambda: functional.batch_norm(X, lm.zeros((5,)), lm.ones((5,))),
            ShapeError,
            "running_mean must have",
        ),
        (
            lambda: functional.batch_norm(X, lm.zeros((6,)), lm.ones((6,)), momentum=1.5),
            ArgumentError,
            "momentum",
        ),
        (
            lambda: functional.batch_norm(
                X, lm.zeros((6,)), lm.ones((6,)), momentum=lm.zeros((6,))
            ),
            ArgumentError,
            "one number",
        ),
        (
            lambda: functional.batch_norm(
                X, lm.zeros((6,), requires_grad=True), lm.ones((6,)), training=False
            ),
            GradientError,
            "are constants",
        ),
        (
            lambda: functional.batch_norm(X, lm.zeros((6,), requires_grad=True), lm.ones((6,))),
            RecordedWriteError,
            "batch_norm",
        ),
        (lambda: functional.instance_norm(X[..., :1]), ShapeError, "more than one position"),
        (lambda: functional.instance_norm(X[..., 0]), ShapeError, "more than one position"),
        (lambda: functional.instance_norm(X, use_input_stats=False), ArgumentError, "running"),
        (lambda: functional.local_response_norm(X, 0), ArgumentError, "size must be positive"),
        (lambda: functional.local_response_norm(X[0, 0], 2), ShapeError, "batch, channels"),
        (lambda: functional.normalize(X, p=NAN), ArgumentError, "p cannot be NaN"),
        (lambda: nn.BatchNorm2d(6)(X), ShapeError, r"BatchNorm2d: the input is \(N, C, H, W\)"),
        (lambda: nn.BatchNorm1d(5)(X), ShapeError, "axis 1 must have 5 channels"),
        (lambda: nn.BatchNorm1d(0), ArgumentError, "num_features must be positive"),
        (lambda: nn.BatchNorm1d(3, momentum=2.0), ArgumentError, r"in \[0, 1\] or None"),
        (lambda: nn.GroupNorm(4, 6), ArgumentError, "6 channels cannot be cut into 4"),
        (lambda: nn.GroupNorm(2, 4)(X), ShapeError, "axis 1 must have 4 channels"),
        (lambda: nn.LayerNorm(()), ShapeError, "at least one axis"),
        (lambda: nn.LocalResponseNorm(0), ArgumentError, "size must be positive"),
    ],
)
def test_mistakes_are_told(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_text_of_the_layers():
    assert repr(nn.BatchNorm2d(3, affine=False)) == (
        "BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=False)"
    )
    assert repr(nn.LayerNorm((2, 3), bias=False)) == "LayerNorm((2, 3), eps=1e-05, bias=False)"
    assert repr(nn.RMSNorm(4)) == "RMSNorm((4,), eps=None)"
    assert repr(nn.GroupNorm(2, 4)) == "GroupNorm(2, 4, eps=1e-05)"
    assert repr(nn.LocalResponseNorm(5)) == ("LocalResponseNorm(5, alpha=0.0001, beta=0.75, k=1.0)")
