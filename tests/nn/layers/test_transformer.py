"""The transformer's layers: what they compute, masks, copies, names, errors."""

import math

import numpy as np
import pytest

import lumus as lm
from lumus import nn
from lumus.errors import ArgumentError
from lumus.testing import gradcheck


def normal(*shape, seed=0):
    return lm.random.normal(shape, dtype=lm.float64, generator=lm.random.Generator(seed))


def spread(module):
    """The module with parameters that are neither 0 nor 1."""
    for place, one in enumerate(module.parameters()):
        one.detach().copy_(0.5 * normal(*one.shape, seed=place))
    return module


def encoder_layer(**options):
    given = {"dropout": 0.0, "batch_first": True, "dtype": lm.float64, **options}
    return spread(nn.TransformerEncoderLayer(6, 3, 8, **given))


def decoder_layer(**options):
    given = {"dropout": 0.0, "batch_first": True, "dtype": lm.float64, **options}
    return spread(nn.TransformerDecoderLayer(6, 3, 8, **given))


def numbers(x):
    return x.detach().numpy()


@pytest.mark.parametrize("activation", ["relu", "gelu", lm.tanh])
@pytest.mark.parametrize("norm_first", [False, True])
def test_encoder_layer_is_its_formula(norm_first, activation):
    layer = encoder_layer(norm_first=norm_first, activation=activation)
    function = {"relu": lm.relu, "gelu": lm.gelu}.get(activation, activation)
    x = normal(2, 4, 6)

    def attended(x):
        return layer.self_attn(x, x, x)[0]

    def fed(x):
        return layer.linear2(function(layer.linear1(x)))

    if norm_first:
        middle = x + attended(layer.norm1(x))
        want = middle + fed(layer.norm2(middle))
    else:
        middle = layer.norm1(x + attended(x))
        want = layer.norm2(middle + fed(middle))
    np.testing.assert_array_equal(numbers(layer(x)), numbers(want))


@pytest.mark.parametrize("norm_first", [False, True])
def test_decoder_layer_is_its_formula(norm_first):
    layer = decoder_layer(norm_first=norm_first)
    x, memory = normal(2, 4, 6), normal(2, 5, 6, seed=1)

    def to_itself(x):
        return layer.self_attn(x, x, x, is_causal=True)[0]

    def to_memory(x):
        return layer.multihead_attn(x, memory, memory)[0]

    def fed(x):
        return layer.linear2(layer.linear1(x).relu())

    want = x
    for part, norm in (
        (to_itself, layer.norm1),
        (to_memory, layer.norm2),
        (fed, layer.norm3),
    ):
        want = want + part(norm(want)) if norm_first else norm(want + part(want))
    np.testing.assert_array_equal(numbers(layer(x, memory, is_causal=True)), numbers(want))


def test_masks_keep_what_they_hide_out_of_the_result():
    layer, x = encoder_layer(), normal(2, 4, 6)
    keys = lm.tensor([[True, True, True, False], [True, True, True, True]])
    other = x.at[0, 3].set(normal(6, seed=3))
    hidden, shown = (numbers(layer(one, key_mask=keys)) for one in (x, other))
    np.testing.assert_array_equal(hidden[0, :3], shown[0, :3])
    causal = numbers(layer(x, is_causal=True))
    np.testing.assert_allclose(causal[0, :3], numbers(layer(other, is_causal=True))[0, :3])
    mask = lm.tril(lm.ones((4, 4))) > 0
    np.testing.assert_allclose(numbers(layer(x, mask)), causal, rtol=1e-12)

    decoder, memory = decoder_layer(), normal(2, 4, 6, seed=4)
    changed = memory.at[0, 3].set(normal(6, seed=5))
    first, second = (numbers(decoder(x, one, memory_key_mask=keys)) for one in (memory, changed))
    np.testing.assert_array_equal(first, second)
    both = {"mask": mask, "memory_mask": mask, "key_mask": keys}
    first, second = (numbers(decoder(x, one, **both)) for one in (memory, changed))
    np.testing.assert_array_equal(first[0, :3], second[0, :3])
    twice = {"is_causal": True, "memory_is_causal": True, "key_mask": keys}
    np.testing.assert_allclose(numbers(decoder(x, memory, **twice)), first, rtol=1e-12)


def test_gradients_are_right():
    encoder = nn.TransformerEncoder(encoder_layer(), 2)
    decoder = nn.TransformerDecoder(decoder_layer(), 1)

    def run(source, target):
        return decoder(target, encoder(source), is_causal=True)

    gradcheck(run, [normal(1, 3, 6), normal(1, 2, 6, seed=1)], order=1, num_directions=1)


def test_copies_begin_alike_and_are_trained_apart():
    layer = encoder_layer()
    encoder = nn.TransformerEncoder(layer, 3, nn.LayerNorm(6, dtype=lm.float64))
    assert len(encoder.parameters()) == 3 * len(layer.parameters()) + 2
    x = normal(2, 4, 6)
    want = encoder.norm(layer(layer(layer(x))))
    np.testing.assert_array_equal(numbers(encoder(x)), numbers(want))
    optimizer = lm.optim.SGD(encoder.parameters(), lr=0.1)
    optimizer.step((encoder(x) ** 2).sum().backward())
    first, second = (numbers(one.linear1.weight) for one in encoder.layers[:2])
    assert not np.array_equal(first, second)


def test_copies_share_the_stream_of_their_dropouts():
    generator = lm.random.Generator(1)
    layer = encoder_layer(dropout=0.5, generator=generator)
    encoder = nn.TransformerEncoder(layer, 2)
    assert all(one.dropout1.generator is generator for one in encoder.layers)
    x = normal(2, 4, 6)
    assert not np.array_equal(numbers(encoder(x)), numbers(encoder(x)))
    encoder.eval()
    np.testing.assert_array_equal(numbers(encoder(x)), numbers(encoder(x)))


def test_transformer_is_an_encoder_and_a_decoder():
    model = nn.Transformer(6, 3, 2, 1, 8, dropout=0.0, batch_first=True, dtype=lm.float64)
    source, target = normal(2, 5, 6), normal(2, 4, 6, seed=1)
    keys = lm.tensor([[True, True, True, True, False], [True] * 5])
    memory = model.encoder(source, key_mask=keys)
    want = model.decoder(target, memory, memory_key_mask=keys, is_causal=True)
    got = model(source, target, source_key_mask=keys, is_causal=True)
    np.testing.assert_array_equal(numbers(got), numbers(want))
    names = [name for name, one in model.named_parameters() if one.ndim > 1]
    assert len(names) == 3 * 4 + 2
    for name in names:
        weight = numbers(model.state_dict()[name])
        assert np.abs(weight).max() <= math.sqrt(6 / sum(weight.shape))


def test_parameters_have_the_names_of_pytorch():
    attention = ["in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"]
    linear = [f"{one}.{what}" for one in ("linear1", "linear2") for what in ("weight", "bias")]

    def names(attentions, norms):
        parts = [f"{one}.{name}" for one in attentions for name in attention]
        norm = [f"norm{one}.{what}" for one in range(1, norms + 1) for what in ("weight", "bias")]
        return {*parts, *linear, *norm}

    encoder, decoder = names(["self_attn"], 2), names(["self_attn", "multihead_attn"], 3)
    assert set(encoder_layer().state_dict()) == encoder
    assert set(decoder_layer().state_dict()) == decoder
    model = nn.Transformer(6, 3, 1, 1, 8)
    assert set(model.state_dict()) == {
        *(f"encoder.layers.0.{name}" for name in encoder),
        *(f"decoder.layers.0.{name}" for name in decoder),
        *(f"{part}.norm.{what}" for part in ("encoder", "decoder") for what in ("weight", "bias")),
    }


def test_misuse_is_told():
    with pytest.raises(ArgumentError, match="activation must be 'relu', 'gelu' or a function"):
        nn.TransformerEncoderLayer(6, 3, activation="sigmoidal")
    with pytest.raises(ArgumentError, match="TransformerEncoder: expected a TransformerEncoder"):
        nn.TransformerEncoder(decoder_layer(), 2)
    with pytest.raises(ArgumentError, match="num_layers cannot be negative, got -1"):
        nn.TransformerDecoder(decoder_layer(), -1)
