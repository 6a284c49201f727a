"""MultiheadAttention: what it computes, its masks, weights, initial values and errors."""

import numpy as np
import pytest

import lumus as lm
from lumus import nn
from lumus.errors import ArgumentError, ShapeError
from lumus.testing import gradcheck

INF = float("inf")


def layer_of(*arguments, dtype=lm.float64, **options):
    layer = nn.MultiheadAttention(
        *arguments, dtype=dtype, generator=lm.random.Generator(1), **options
    )
    # Nothing of zeros, so that nothing goes unnoticed.
    for place, one in enumerate(layer.parameters()):
        one.detach().copy_(normal(*one.shape, seed=place))
    return layer


def normal(*shape, seed=0):
    return lm.random.normal(shape, dtype=lm.float64, generator=lm.random.Generator(seed))


def one_head(layer, head, query, key, value, mask):
    """Output of a head before the last projection, and its weights, in NumPy."""
    width = layer.out_proj.weight.shape[0] // layer.num_heads
    rows = slice(head * width, (head + 1) * width)
    weights = np.split(layer.in_proj_weight.detach().numpy(), 3)
    biases = np.split(layer.in_proj_bias.detach().numpy(), 3)
    q, k, v = (
        x @ w[rows].T + b[rows]
        for x, w, b in zip((query, key, value), weights, biases, strict=True)
    )
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(width)
    exps = np.where(mask, np.exp(scores), 0.0)
    weight = exps / exps.sum(axis=-1, keepdims=True)
    return weight @ v, weight


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("shared", ["all", "keys", "none"])
def test_output_and_weights_are_those_of_the_heads_side_by_side(shared, batch_first):
    layer = layer_of(6, 3, batch_first=batch_first)
    query = normal(2, 5, 6)
    key = query if shared == "all" else normal(2, 5, 6, seed=1)
    value = key if shared != "none" else normal(2, 5, 6, seed=2)
    mask = np.tril(np.ones((5, 5), bool))
    heads = [
        one_head(layer, head, query.numpy(), key.numpy(), value.numpy(), mask) for head in range(3)
    ]
    side_by_side = np.concatenate([output for output, _ in heads], axis=-1)
    weight, bias = (one.detach().numpy() for one in layer.out_proj.parameters())
    given = {id(one): one if batch_first else one.transpose(0, 1) for one in (query, key, value)}
    y, weights = layer(
        *[given[id(one)] for one in (query, key, value)], is_causal=True, need_weights=True
    )
    y = y if batch_first else y.transpose(0, 1)
    np.testing.assert_allclose(y.detach().numpy(), side_by_side @ weight.T + bias, rtol=1e-10)
    mean = np.mean([weight for _, weight in heads], axis=0)
    np.testing.assert_allclose(weights.detach().numpy(), mean, rtol=1e-10)


def test_a_sequence_without_a_batch_is_a_batch_of_one():
    layer, x = layer_of(6, 3), normal(5, 6)
    y, weights = layer(x, x, x, need_weights=True, average_attn_weights=False)
    many, of_many = layer(*[x.expand_dims(1)] * 3, need_weights=True, average_attn_weights=False)
    np.testing.assert_array_equal(y.detach().numpy(), many.squeeze(1).detach().numpy())
    assert weights.shape == (3, 5, 5)
    np.testing.assert_array_equal(weights.detach().numpy(), of_many.detach().numpy()[0])


def test_masks_exclude_what_they_are_false_or_minus_infinity_for():
    layer, query, key = layer_of(6, 3, batch_first=True), normal(2, 4, 6), normal(2, 5, 6, seed=1)
    mask = lm.random.bernoulli((4, 5), 0.7, generator=lm.random.Generator(2))
    keys = lm.tensor([[True, True, True, True, False], [False, True, True, True, True]])
    both = (mask & keys.expand_dims(1)).expand_dims(1)
    want = layer(query, key, key, both)[0].detach().numpy()

    def numbers(one):
        return lm.where(one, lm.zeros(one.shape, dtype=lm.float64), -INF)

    each = numbers(both.broadcast_to(2, 3, 4, 5)).reshape(6, 4, 5)
    for masks in (
        {"mask": mask, "key_mask": keys},
        {"mask": numbers(mask), "key_mask": keys},
        {"mask": mask, "key_mask": numbers(keys)},
        {"mask": numbers(mask), "key_mask": numbers(keys)},
        {"mask": each},
    ):
        got = layer(query, key, key, **masks)[0].detach().numpy()
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_learned_key_and_a_key_of_zeros_are_seen_by_every_query():
    layer = layer_of(4, 2, add_bias_kv=True, add_zero_attn=True, batch_first=True)
    x = normal(2, 3, 4)
    nobody = lm.zeros((3, 3), dtype=lm.bool_)
    _, weights = layer(x, x, x, nobody, need_weights=True)
    assert weights.shape == (2, 3, 5)
    np.testing.assert_allclose(weights.detach().numpy().sum(axis=-1), 1)
    assert not weights.detach().numpy()[..., :3].any()
    _, causal = layer(x, x, x, is_causal=True, need_weights=True)
    assert (causal.detach().numpy() > 0).tolist() == [
        [[True, False, False, True, True], [True, True, False, True, True], [True] * 5]
    ] * 2


def test_gradients_are_right_to_second_order():
    layer = layer_of(4, 2, kdim=3, vdim=5, add_bias_kv=True, add_zero_attn=True)
    names = [name for name, _ in layer.named_parameters()]

    def attended(query, key, value, *parameters):
        for name, one in zip(names, parameters, strict=True):
            target = layer.out_proj if name.startswith("out_proj.") else layer
            setattr(target, name.removeprefix("out_proj."), one)
        return layer(query, key, value)[0].tanh()

    given = [normal(3, 2, 4), normal(2, 2, 3, seed=1), normal(2, 2, 5, seed=2)]
    parameters = [one.detach() for one in layer.parameters()]
    gradcheck(attended, [*given, *parameters], num_directions=1)


def test_dropout_is_for_training_alone():
    layer, x = layer_of(4, 2, 0.5), normal(3, 2, 4)
    first, second = (layer(x, x, x)[0].detach().numpy() for _ in range(2))
    assert not np.array_equal(first, second)
    layer.eval()
    first, second = (layer(x, x, x)[0].detach().numpy() for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_initial_values_are_spread_by_glorot_s_rule_with_biases_of_zero():
    layer = nn.MultiheadAttention(40, 4, generator=lm.random.Generator(1))
    bound = np.sqrt(6 / (40 + 120))
    weight = layer.in_proj_weight.detach().numpy()
    assert 0.97 * bound < np.abs(weight).max() <= bound
    assert np.abs(layer.out_proj.weight.detach().numpy()).max() <= 40**-0.5
    for bias in (layer.in_proj_bias, layer.out_proj.bias):
        assert not bias.detach().numpy().any()
    assert repr(layer).startswith("MultiheadAttention(40, 4")


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"]),
        ({"bias": False}, ["in_proj_weight", "out_proj.weight"]),
        (
            {"kdim": 3, "bias": False, "add_bias_kv": True},
            ["q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight", "bias_k",
             "bias_v"],
        ),
    ],
)  # fmt: skip
def test_parameters_have_the_names_of_pytorch(options, names):
    assert sorted(layer_of(4, 2, **options).state_dict()) == sorted(names)


def test_misuse_is_told():
    for arguments in ((6, 4), (0, 1), (6, 0), (6, -3)):
        with pytest.raises(ArgumentError, match="num_heads divide embed_dim"):
            nn.MultiheadAttention(*arguments)
    with pytest.raises(ArgumentError, match=r"in \[0, 1\]"):
        nn.MultiheadAttention(6, 3, 2.0)
    layer = layer_of(4, 2, batch_first=True)
    x = normal(2, 3, 4)
    for given in (
        (x, x, normal(2, 4, 4)), (x, normal(3, 3, 4), normal(3, 3, 4)), (x, x[0], x[0]),
        (normal(2, 3, 5), x, x), (x[0, 0], x[0, 0], x[0, 0]),
    ):  # fmt: skip
        with pytest.raises(ShapeError, match=r"MultiheadAttention: query, key and value must be"):
            layer(*given)
    with pytest.raises(ShapeError, match="a mask of three axes has 4"):
        layer(x, x, x, lm.ones((3, 3, 3)) > 0)
    with pytest.raises(ShapeError, match="a mask of shape"):
        layer(x, x, x, key_mask=lm.ones((3, 3)) > 0)
