"""Embedding: rows of a table, its initial values, tables from elsewhere, its errors."""

import numpy as np
import pytest

import lumus as lm
from lumus import nn
from lumus.errors import ArgumentError, IndexRangeError, KindError, ShapeError


def seeded(*arguments, **options):
    return nn.Embedding(*arguments, generator=lm.random.Generator(1), **options)


def test_embedding_gives_rows_of_its_weight():
    layer = seeded(5, 3)
    ids = lm.tensor([[4, 0], [1, 4]], dtype=lm.int32)
    np.testing.assert_array_equal(
        layer(ids).detach().numpy(), layer.weight.detach().numpy()[ids.numpy()]
    )
    assert list(layer.state_dict()) == ["weight"]
    assert repr(layer) == "Embedding(5, 3)"


def test_embedding_starts_normal_with_a_padding_row_of_zeros():
    weight = seeded(400, 50, -1).weight.detach().numpy()
    assert abs(weight[:-1].std() - 1) < 0.02
    assert abs(weight.mean()) < 0.02
    assert not weight[-1].any()
    assert repr(seeded(4, 2, -1)) == "Embedding(4, 2, padding_idx=3)"


def test_padding_row_stays_when_the_others_are_trained():
    layer = seeded(4, 2, 0)
    before = layer.weight.detach().numpy().copy()
    optimizer = lm.optim.SGD(layer.parameters(), lr=0.1)
    optimizer.step(layer(lm.tensor([0, 1, 1])).sum().backward())
    change = layer.weight.detach().numpy() - before
    np.testing.assert_allclose(change, [[0, 0], [-0.2, -0.2], [0, 0], [0, 0]], atol=1e-7)


def test_scale_grad_by_freq_averages_over_repeats():
    layer = seeded(3, 1, scale_grad_by_freq=True)
    grads = layer(lm.tensor([1, 2, 1])).backward(lm.tensor([[2.0], [3.0], [6.0]]))
    assert grads[layer.weight].tolist() == [[0.0], [4.0], [3.0]]


def test_pretrained_weight_is_a_buffer_unless_it_is_to_be_trained():
    weight = lm.tensor([[1.0, 2.0], [3.0, 4.0]])
    frozen = nn.Embedding.from_pretrained(weight, padding_idx=1)
    assert frozen(lm.tensor(1)).tolist() == [3.0, 4.0]
    assert not list(frozen.parameters())
    assert list(frozen.state_dict()) == ["weight"]
    trained = nn.Embedding.from_pretrained(weight, freeze=False)
    assert [one.shape for one in trained.parameters()] == [(2, 2)]


def test_embedding_refuses_what_makes_no_table():
    for sizes in ((0, 3), (3, 0), (-1, 2)):
        with pytest.raises(ArgumentError, match="must be positive"):
            nn.Embedding(*sizes)
    for padding in (3, -4):
        with pytest.raises(ArgumentError, match=f"padding_idx {padding} is none of 3 rows"):
            nn.Embedding(3, 2, padding)
    with pytest.raises(ShapeError, match=r"\(rows, width\), got shape \(3,\)"):
        nn.Embedding.from_pretrained(lm.zeros((3,)))
    with pytest.raises(KindError, match="Float"):
        nn.Embedding.from_pretrained(lm.zeros((3, 2), dtype=lm.int64))
    layer = seeded(3, 2)
    with pytest.raises(IndexRangeError, match=r"embedding: 3 at position \[1\] is no row"):
        layer(lm.tensor([0, 3]))
    with pytest.raises(KindError, match="Int"):
        layer(lm.tensor([0.0]))


def test_bits_of_the_gradient_do_not_depend_on_the_threads():
    ids = lm.random.integers((5000,), 0, 300, generator=lm.random.Generator(3))
    grad = lm.random.normal((5000, 33), generator=lm.random.Generator(4))
    threads = lm.num_threads()
    found = []
    for count in (1, 2, 5):
        lm.set_num_threads(count)
        layer = seeded(300, 33)
        found.append(layer(ids).backward(grad)[layer.weight].numpy().tobytes())
    lm.set_num_threads(threads)
    assert found[1:] == [found[0]] * 2


def test_bags_of_rows_leave_the_padding_out():
    layer = nn.EmbeddingBag(4, 2, padding_idx=0, generator=lm.random.Generator(1))
    weight = layer.weight.detach().numpy()
    assert not weight[0].any()
    y = layer(lm.tensor([[1, 0, 3], [0, 0, 0]]))
    want = [(weight[1] + weight[3]) / 2, [0, 0]]
    np.testing.assert_allclose(y.detach().numpy(), want, rtol=1e-6)
    assert y.sum().backward()[layer.weight].tolist() == [[0, 0], [0.5, 0.5], [0, 0], [0.5, 0.5]]
    assert list(layer.state_dict()) == ["weight"]
    assert repr(layer) == "EmbeddingBag(4, 2, mode='mean', padding_idx=0)"


def test_bags_one_after_the_other_end_where_the_next_begins():
    layer = nn.EmbeddingBag(4, 2, mode="sum", include_last_offset=True)
    weight = layer.weight.detach().numpy()
    y = layer(lm.tensor([1, 2, 3]), lm.tensor([0, 1, 1, 3]))
    want = [weight[1], [0, 0], weight[2] + weight[3]]
    np.testing.assert_allclose(y.detach().numpy(), want, rtol=1e-6)
    with pytest.raises(ShapeError, match="last offset must be the number of ids, 3"):
        layer(lm.tensor([1, 2, 3]), lm.tensor([0, 1]))


def test_bags_on_a_pretrained_table_are_frozen_unless_to_be_trained():
    weight = lm.tensor([[1.0, 2.0], [3.0, 4.0]])
    frozen = nn.EmbeddingBag.from_pretrained(weight, mode="max", padding_idx=1)
    assert frozen(lm.tensor([[0, 1], [1, 1]])).tolist() == [[1.0, 2.0], [0.0, 0.0]]
    assert not list(frozen.parameters())
    trained = nn.EmbeddingBag.from_pretrained(weight, freeze=False)
    assert [one.shape for one in trained.parameters()] == [(2, 2)]


def test_mean_of_a_bag_of_halves_does_not_overflow():
    table = lm.full((1, 1), 1024.0, dtype=lm.float16)
    ids = lm.zeros((1, 100), dtype=lm.int64)
    bag = nn.functional.embedding_bag
    assert bag(ids, table).tolist() == [[1024.0]]
    assert bag(ids[0], table, lm.tensor([0])).tolist() == [[1024.0]]
    assert bag(ids, table).dtype == lm.float16


def test_bags_refuse_what_makes_none():
    table, ids = lm.zeros((4, 2)), lm.tensor([1, 2, 3])
    bag = nn.functional.embedding_bag
    for offsets in ([1, 2], [0, 2, 1], [0, 4]):
        with pytest.raises(ArgumentError, match="must ascend from 0 to at most 3"):
            bag(ids, table, lm.tensor(offsets))
    with pytest.raises(ArgumentError, match="3 numbers are in no bag"):
        bag(ids, table, lm.zeros((0,), dtype=lm.int64))
    with pytest.raises(ShapeError, match=r"ids must be \(bags, n\)"):
        bag(ids, table)
    with pytest.raises(ArgumentError, match="mode must be"):
        nn.EmbeddingBag(3, 2, mode="median")
    with pytest.raises(ArgumentError, match="are for mode='sum'"):
        bag(ids, table, lm.tensor([0]), per_sample_weights=lm.ones((3,)))
    with pytest.raises(ShapeError, match="per_sample_weights of shape"):
        bag(ids, table, lm.tensor([0]), mode="sum", per_sample_weights=lm.ones((2,)))
    with pytest.raises(IndexRangeError, match="4 at position"):
        bag(lm.tensor([[4]]), table)
