"""Writes in place in compiled functions, and memory that is shared."""

from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.errors import (
    MatrixError,
    TraceError,
)

F = lm.nn.functional


def test_writes_through_views_are_seen() -> None:
    kept = lm.zeros((3,))

    def function(x: lm.Tensor[lm.Float]) -> Any:
        y = x * 2.0
        window = y[1:3]
        window.add_(10.0)
        y[0] = 7.0
        turned = y.reshape(2, 2).permute_dims(1, 0)
        turned[0] = lm.tensor([5.0, 6.0])
        kept[1:] = x[:2]
        kept.add_(1.0)
        return y, turned, window, kept[1:] + 0.0

    x = lm.tensor([1.0, 2.0, 3.0, 4.0])
    expected = [one.tolist() for one in function(x)]
    state = kept.tolist()
    kept.zero_()
    compiled = lm.compile(function)
    for _ in range(2):
        kept.zero_()
        assert [one.tolist() for one in compiled(x)] == expected
        assert kept.tolist() == state


def test_captured_tensors_are_swapped() -> None:
    a, b = lm.tensor([1.0, 2.0]), lm.tensor([3.0, 4.0])

    def swap() -> None:
        old = a.copy()
        a.copy_(b)
        b.copy_(old)

    compiled = lm.compile(swap)
    compiled()
    assert (a.tolist(), b.tolist()) == ([3.0, 4.0], [1.0, 2.0])
    compiled()
    assert (a.tolist(), b.tolist()) == ([1.0, 2.0], [3.0, 4.0])


def test_an_argument_is_written_in_place() -> None:
    @lm.compile
    def add_one(x: lm.Tensor[lm.Float]) -> lm.Tensor[lm.Float]:
        x.add_(1.0)
        return x

    x = lm.tensor([[1.0, 2.0], [3.0, 4.0]])
    before = x.data.version
    assert add_one(x) is x
    assert add_one(x.permute_dims(1, 0)).tolist() == [[3.0, 5.0], [4.0, 6.0]]
    assert x.tolist() == [[3.0, 4.0], [5.0, 6.0]]
    assert x.data.version > before


def test_creation_inside_is_anew_at_each_call() -> None:
    @lm.compile
    def count(x: lm.Tensor[lm.Float]) -> lm.Tensor[lm.Float]:
        total = lm.zeros((2,))
        total.add_(x)
        return total

    x = lm.tensor([1.0, 2.0])
    assert count(x).tolist() == count(x).tolist() == [1.0, 2.0]


def test_results_are_new_memory_at_each_call() -> None:
    compiled = lm.compile(lambda x: (x + 1.0, x))
    x = lm.tensor([1.0])
    first, same = compiled(x)
    second, _ = compiled(x)
    first.add_(5.0)
    assert same is x
    assert second.tolist() == [2.0]


def test_an_error_after_a_write_takes_it_back() -> None:
    count, table = lm.zeros((2,)), lm.tensor([[1.0], [2.0], [3.0]])

    @lm.compile
    def look_up(at: Any) -> Any:
        count.add_(1.0)
        return table[at] * 2.0

    assert look_up(lm.tensor([2])).tolist() == [[6.0]]
    with pytest.raises(IndexError, match="7"):
        look_up(lm.tensor([7]))
    assert count.tolist() == [1.0, 1.0]

    @lm.compile
    def decompose(x: Any) -> Any:
        x.multiply_(2.0)
        return lm.linalg.cholesky(x * 1.0)

    x = -lm.eye(2)
    with pytest.raises(MatrixError):
        decompose(x)
    assert x.tolist() == [[-1.0, 0.0], [0.0, -1.0]]


def test_tensors_that_share_memory_are_refused_when_written() -> None:
    base = lm.zeros((4,))
    part = base[:2]

    def function() -> None:
        base.add_(1.0)
        part.add_(1.0)

    with pytest.raises(TraceError, match="share memory"):
        lm.compile(function)()
    assert base.tolist() == [0.0] * 4


def test_arguments_in_memory_that_is_written_are_refused() -> None:
    w = lm.zeros((2,))

    @lm.compile
    def update(x: Any) -> None:
        w.add_(x)

    @lm.compile
    def shift(x: Any, y: Any) -> None:
        x.add_(y)

    with pytest.raises(TraceError, match=r"argument 0 of update .* shares memory"):
        update(w)
    update(w + 1.0)
    with pytest.raises(TraceError, match="argument 0 of shift"):
        shift(w, w)
    base = lm.zeros((4,))
    with pytest.raises(TraceError, match="shares memory"):
        shift(base[:2], base[1:3])
    shift(w, w.copy())
    assert w.tolist() == [2.0, 2.0]


def test_a_write_through_a_view_inside_meets_memory_from_outside() -> None:
    base = lm.tensor([1.0, 2.0, 3.0])
    part = base[:2]

    def function() -> Any:
        before = part * 1.0
        base[0:2].fill_(7.0)
        return before, part * 1.0

    with pytest.raises(TraceError, match="share memory"):
        lm.compile(function)()
    assert base.tolist() == [1.0, 2.0, 3.0]


STRIDED = {
    "transposed": lambda: lm.arange(12.0).reshape(4, 3).permute_dims((1, 0)),
    "with gaps": lambda: lm.arange(24.0).reshape(6, 4)[::2, :],
    "apart": lambda: lm.arange(24.0).reshape(3, 8)[:, ::2],
    "reversed": lambda: lm.tensor(np.arange(12.0, dtype=np.float32)[::-1].reshape(3, 4)),
}
READINGS = {
    "reshape": lambda x: x.reshape(12),
    "row": lambda x: x[1] * 1.0,
    "column": lambda x: x[:, 1:3].sum(axis=1),
    "transpose": lambda x: x.permute_dims((1, 0)).reshape(12),
    "product": lambda x: x @ lm.ones((4, 2)),
    "stack": lambda x: lm.stack([x, x]),
    "itself": lambda x: x * 2.0,
}


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("layout", STRIDED)
@pytest.mark.parametrize("is_outside", [False, True])
def test_a_view_after_a_write_into_memory_that_is_not_dense(
    layout: str, reading: str, is_outside: bool
) -> None:
    def step(x: Any) -> Any:
        x.multiply_(3.0)
        x[0].add_(1.0)
        return READINGS[reading](x)

    given, plain = STRIDED[layout](), STRIDED[layout]()
    compiled = lm.compile((lambda: step(given)) if is_outside else step)
    for _ in range(2):
        made = compiled() if is_outside else compiled(given)
        assert made.tolist() == step(plain).tolist()
        assert given.tolist() == plain.tolist()


def test_what_a_callback_gives_is_written_and_read_on() -> None:
    inverse = lm.zeros((2, 2))

    def invert(x: Any) -> Any:
        inverse.copy_(lm.linalg.inv(x))
        return inverse * 2.0

    x = lm.tensor([[2.0, 0.0], [0.0, 4.0]])
    assert lm.compile(invert)(x).tolist() == [[1.0, 0.0], [0.0, 0.5]]
    assert inverse.tolist() == [[0.5, 0.0], [0.0, 0.25]]
