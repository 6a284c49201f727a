"""What the properties share: how many examples, shapes, and tensors in odd places of memory."""

from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

import lumus as lm

EXAMPLES = settings(max_examples=30, derandomize=True)

INTS = (lm.int64, lm.int32, lm.int16, lm.int8, lm.uint8)
FLOATS = (lm.float64, lm.float32, lm.float16, lm.bfloat16)
HELD_BY_NUMPY = (*INTS, lm.float64, lm.float32, lm.float16, lm.bool_)


def shapes(max_rank: int = 4, max_length: int = 4) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes of few elements, empty and 0-d ones among them."""
    return st.lists(st.integers(0, max_length), max_size=max_rank).map(tuple)


def array(shape: tuple[int, ...], dtype: lm.DType[Any], seed: int) -> Any:
    """Small numbers of which sums and products are exact in every dtype but the half ones."""
    numbers = np.random.default_rng(seed).integers(0 if dtype is lm.uint8 else -4, 5, shape)
    return numbers.astype(dtype.numpy_name)


def laid_out(values: Any, layout: str) -> lm.Tensor[Any]:
    """A tensor of these elements that lies in memory as asked."""
    if layout == "reversed":
        return lm.tensor(np.flip(values)).flip()
    if layout == "transposed":
        return lm.tensor(values.T).permute_dims(tuple(range(values.ndim))[::-1])
    if layout == "strided" and values.ndim:
        return lm.tensor(np.repeat(values, 3, axis=0))[1::3]
    return lm.tensor(values)


LAYOUTS = st.sampled_from(["dense", "reversed", "transposed", "strided"])


def check_same(result: lm.Tensor[Any], expected: Any) -> None:
    """The same shape, dtype and elements."""
    expected = np.asarray(expected)
    assert result.shape == expected.shape
    assert result.dtype.name == expected.dtype.name
    np.testing.assert_array_equal(result.detach().numpy(), expected)
