"""scaled_dot_product_attention: dropout, memory, shared heads, and what it refuses."""

from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.core.runtime import memory_stats
from lumus.nn.functional import scaled_dot_product_attention
from lumus.testing import gradcheck

DEVICES = ("cpu", "reference")


def normal(*shape: int, dtype: Any = lm.float64, device: str = "cpu") -> lm.Tensor[lm.Float]:
    numbers = np.random.default_rng(shape).standard_normal(shape)
    return lm.tensor(numbers, dtype=dtype, device=device)


def dropped_weights(
    query: lm.Tensor[lm.Float], key: lm.Tensor[lm.Float], probability: float
) -> Any:
    """The weights that attention uses, read off by values that are the rows of the identity."""
    identity = lm.eye(key.shape[-2], dtype=query.dtype, device=query.device)
    return scaled_dot_product_attention(
        query, key, identity, dropout=probability, generator=lm.random.Generator(5)
    )


@pytest.mark.parametrize("device", DEVICES)
def test_dropout_drops_weights_and_scales_the_others(device: str) -> None:
    query, key = normal(2, 3, 70, 4, device=device), normal(2, 3, 131, 4, device=device)
    whole = dropped_weights(query, key, 0.0).to_device("cpu").numpy()
    dropped = dropped_weights(query, key, 0.25).to_device("cpu").numpy()
    kept = dropped != 0
    np.testing.assert_allclose(dropped[kept], whole[kept] / 0.75, rtol=1e-12)
    assert abs(kept.mean() - 0.75) < 5 * (0.25 * 0.75 / kept.size) ** 0.5
    # Neither the rows nor the keys of a block share their numbers.
    assert len({row.tobytes() for row in kept.reshape(-1, 131)}) == 420


def test_dropout_is_the_same_on_every_device_and_layout() -> None:
    query, key = normal(2, 70, 4), normal(2, 131, 4)
    want = dropped_weights(query, key, 0.4).numpy()
    there = dropped_weights(query.to_device("reference"), key.to_device("reference"), 0.4)
    np.testing.assert_allclose(there.to_device("cpu").numpy(), want, rtol=1e-12)
    narrow = dropped_weights(query.astype(lm.float32), key.astype(lm.float32), 0.4)
    assert np.array_equal(narrow.numpy() != 0, want != 0)


@pytest.mark.parametrize("device", DEVICES)
def test_gradients_go_through_the_weights_that_dropout_kept(device: str) -> None:
    def attended(*given: Any) -> lm.Tensor[lm.Float]:
        generator = lm.random.Generator(3)
        return scaled_dot_product_attention(
            *given, dropout=0.5, is_causal=True, enable_gqa=True, generator=generator
        )

    shapes = ((2, 3, 2), (1, 5, 2), (1, 5, 2), (3, 5))
    gradcheck(attended, [normal(*shape, device=device) for shape in shapes], order=2)


def test_all_is_dropped_with_probability_one() -> None:
    query = normal(3, 2).requires_grad_()
    y = scaled_dot_product_attention(query, query, query, dropout=1.0)
    assert not y.detach().numpy().any()
    assert not y.sum().backward()[query].numpy().any()


def test_dropout_moves_the_stream_on() -> None:
    generator = lm.random.Generator(1)
    rows = normal(4, 2)
    first, second = (
        scaled_dot_product_attention(rows, rows, rows, dropout=0.5, generator=generator).numpy()
        for _ in range(2)
    )
    assert not np.array_equal(first, second)


def test_memory_does_not_grow_with_the_square_of_the_rows() -> None:
    rows = normal(4096, 16, dtype=lm.float32).requires_grad_()
    scaled_dot_product_attention(rows, rows, rows).sum().backward()
    lm._native.reset_peak()
    before = memory_stats()["live_bytes"]
    scaled_dot_product_attention(rows, rows, rows, is_causal=True).sum().backward()
    extra = memory_stats()["peak_bytes"] - before
    assert extra < 4096 * 4096  # a quarter of the scores


def test_shared_heads_are_repeated_heads() -> None:
    query, key = normal(2, 6, 5, 4), normal(2, 3, 7, 4)
    leaves = [query.requires_grad_(), key.requires_grad_()]
    shared = scaled_dot_product_attention(query, key, key, enable_gqa=True)
    repeated = key.expand_dims(2).broadcast_to(2, 3, 2, 7, 4).reshape(2, 6, 7, 4)
    plain = scaled_dot_product_attention(query, repeated, repeated)
    np.testing.assert_allclose(shared.detach().numpy(), plain.detach().numpy(), rtol=1e-12)
    grads, others = shared.sum().backward(), plain.sum().backward()
    for leaf in leaves:
        np.testing.assert_allclose(grads[leaf].numpy(), others[leaf].numpy(), atol=1e-13)


def test_causal_begins_at_the_first_query_and_key() -> None:
    rows = lm.eye(3, dtype=lm.float64)
    zeros = lm.zeros((2, 1), dtype=lm.float64)
    weights = scaled_dot_product_attention(
        zeros, lm.zeros((3, 1), dtype=lm.float64), rows, is_causal=True
    )
    assert weights.tolist() == [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]


def test_dtypes_promote() -> None:
    narrow, wide = normal(3, 2, dtype=lm.bfloat16), normal(3, 2, dtype=lm.float32)
    assert scaled_dot_product_attention(narrow, wide, narrow).dtype is lm.float32
    mask = normal(3, 3, dtype=lm.float64)
    assert scaled_dot_product_attention(narrow, narrow, narrow, mask).dtype is lm.bfloat16


ROWS = lm.zeros((2, 4, 3, 2))


@pytest.mark.parametrize(
    ("error", "arguments", "options", "text"),
    [
        (lm.errors.ShapeError, (lm.zeros((2,)), ROWS, ROWS), {}, r"shapes \(2,\)"),
        (lm.errors.ShapeError, (ROWS, lm.zeros((3, 5)), ROWS), {}, "do not fit"),
        (lm.errors.ShapeError, (ROWS, ROWS, lm.zeros((5, 2))), {}, "do not fit"),
        (lm.errors.ShapeError, (ROWS, *[lm.zeros((2, 2, 3, 2))] * 2), {}, "enable_gqa=True"),
        (
            lm.errors.ShapeError,
            (ROWS, *[lm.zeros((2, 3, 3, 2))] * 2),
            {"enable_gqa": True},
            "do not broadcast",
        ),
        (lm.errors.ShapeError, (ROWS, ROWS, ROWS, lm.zeros((4, 3))), {}, "a mask of shape"),
        (lm.errors.ShapeError, (ROWS, ROWS, ROWS, lm.zeros((1, 2, 4, 3, 3))), {}, "mask"),
        (
            lm.errors.KindError,
            (ROWS, ROWS, ROWS, lm.zeros((3, 3), dtype=lm.int64)),
            {},
            "True where a query may attend",
        ),
        (lm.errors.KindError, (*[lm.zeros((3, 2), dtype=lm.int64)] * 3,), {}, "Float"),
        (lm.errors.ArgumentError, (ROWS, ROWS, ROWS), {"dropout": 1.5}, r"in \[0, 1\]"),
        (lm.errors.ArgumentError, (ROWS, ROWS, ROWS), {"dropout": float("nan")}, "dropout"),
        (lm.errors.ArgumentError, (ROWS, ROWS, ROWS), {"scale": float("inf")}, "finite"),
        (lm.errors.ArgumentError, (ROWS, ROWS, ROWS), {"is_causal": 2}, "is_causal"),
        (
            lm.errors.ArgumentError,
            (ROWS, ROWS, ROWS),
            {"generator": 1, "dropout": 0.1},
            "Generator",
        ),
        (lm.errors.ArgumentError, (ROWS, 1.0, ROWS), {}, "expected a tensor"),
    ],
)
def test_a_misuse_says_what_is_wrong(
    error: type[Exception], arguments: tuple[Any, ...], options: dict[str, Any], text: str
) -> None:
    with pytest.raises(error, match=text) as raised:
        scaled_dot_product_attention(*arguments, **options)
    assert str(raised.value).startswith("scaled_dot_product_attention: ")
