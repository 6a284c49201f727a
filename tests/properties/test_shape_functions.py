"""pad, roll, tile, repeat, unfold and einsum give what NumPy gives, for any arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lumus as lm

SHAPES = st.lists(st.integers(0, 4), max_size=4).map(tuple)
LENGTHS = {"i": 2, "j": 3, "k": 4, "l": 1, "m": 2}


def counted(shape: tuple[int, ...]) -> Any:
    return np.arange(np.prod(shape, dtype=int), dtype=np.float64).reshape(shape)


def check(got: lm.Tensor[Any], want: Any) -> None:
    assert got.shape == want.shape
    assert np.array_equal(got.numpy(), want)


@given(SHAPES.filter(len), st.data())
def test_roll_is_numpys(shape: tuple[int, ...], data: st.DataObject) -> None:
    axes = data.draw(st.lists(st.integers(-len(shape), len(shape) - 1), max_size=3))
    shifts = data.draw(st.lists(st.integers(-9, 9), min_size=len(axes), max_size=len(axes)))
    check(lm.tensor(counted(shape)).roll(shifts, axes), np.roll(counted(shape), shifts, axes))


@given(SHAPES, st.lists(st.integers(0, 3), max_size=5))
def test_tile_is_numpys(shape: tuple[int, ...], repetitions: list[int]) -> None:
    check(lm.tensor(counted(shape)).tile(repetitions), np.tile(counted(shape), repetitions))


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple),
    st.sampled_from(["constant", "edge", "reflect", "symmetric", "wrap"]),
    st.data(),
)
def test_pad_is_numpys(shape: tuple[int, ...], mode: Any, data: st.DataObject) -> None:
    width = st.tuples(st.integers(0, 11), st.integers(0, 11))
    widths = data.draw(st.lists(width, min_size=len(shape), max_size=len(shape)))
    check(lm.tensor(counted(shape)).pad(widths, mode), np.pad(counted(shape), widths, mode))


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 14))
def test_unfold_is_numpys_sliding_window(length: int, size: int, step: int) -> None:
    size = min(size, length)
    x = counted((2, length))
    want = np.lib.stride_tricks.sliding_window_view(x, size, axis=1)[:, ::step]
    check(lm.tensor(x).unfold(1, size, step), want)


TERMS = st.text("ijklm", max_size=3)


@given(st.lists(TERMS, min_size=1, max_size=4), st.data())
def test_einsum_is_numpys(terms: list[str], data: st.DataObject) -> None:
    known = sorted({letter for term in terms for letter in term})
    output = "".join(data.draw(st.permutations(known)))[: data.draw(st.integers(0, 3))]
    operands = [
        np.random.default_rng(place).integers(-3, 4, [LENGTHS[one] for one in term])
        for place, term in enumerate(terms)
    ]
    for equation in (",".join(terms), f"{','.join(terms)}->{output}"):
        got = lm.einsum(equation, *[lm.tensor(one) for one in operands])
        check(got, np.asarray(np.einsum(equation, *operands)))


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_repeat_takes_a_tensor_of_numbers(axis: int | None) -> None:
    x = counted((2, 2))
    repeats = [1, 3] if axis is not None else [0, 1, 2, 3]
    check(lm.tensor(x).repeat(lm.tensor(repeats), axis), np.repeat(x, repeats, axis))


def test_pad_takes_some_axes_by_name() -> None:
    x = counted((2, 3))
    want = np.pad(x, ((0, 0), (1, 2)), "edge")
    check(lm.tensor(x).pad({-1: (1, 2)}, "edge"), want)
    check(lm.tensor(x).pad({1: 1, 0: (0, 2)}), np.pad(x, ((0, 2), (1, 1))))


def test_pad_fills_with_a_number_of_the_kind() -> None:
    assert lm.tensor([True]).pad(1).tolist() == [False, True, False]
    assert lm.tensor([True]).pad((0, 1), constant_values=True).tolist() == [True, True]
    assert lm.tensor([1.5]).pad((0, 1), constant_values=-0.0).numpy().tobytes() == (
        np.array([1.5, -0.0], np.float32).tobytes()
    )
    with pytest.raises(lm.errors.KindError):
        lm.tensor([1]).pad(1, constant_values=0.5)
    with pytest.raises(lm.errors.DTypeError):
        lm.tensor([1], dtype=lm.uint8).pad(1, constant_values=256)


def test_results_have_memory_of_their_own_where_views_are_not_promised() -> None:
    x = lm.tensor([[1.0, 2.0]])
    for made in (x.roll(0), x.tile(1), x.pad(0), x.pad(0, "edge"), x.repeat(1)):
        made.fill_(9.0)
    assert x.tolist() == [[1.0, 2.0]]


def test_windows_share_memory_and_see_later_writes() -> None:
    x = lm.tensor([1.0, 2.0, 3.0])
    windows = x.unfold(0, 2)
    x[1] = 7.0
    assert windows.tolist() == [[1.0, 7.0], [7.0, 3.0]]
    apart = x.unfold(0, 1, 2)
    apart.zero_()
    assert x.tolist() == [0.0, 7.0, 0.0]
