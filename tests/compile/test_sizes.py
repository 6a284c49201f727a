"""Axes whose lengths vary: what is kept of them, and the memory that their plans share."""

import gc
import threading
from typing import Any

import pytest

import lumus as lm
from lumus.compile import sizes
from lumus.errors import TraceError


def test_lengths_do_not_count_but_other_kinds_of_call_do() -> None:
    compiled = lm.compile(lambda x, y: (x + y).sum(axis=0), dynamic={"x": 0, "y": 0})
    for size in [*range(1, 101), 3]:
        x = lm.ones((size, 2))
        assert compiled(x, x).tolist() == [2.0 * size] * 2
    assert len(compiled.cache_info().variants) == 100
    for width in range(3, 10):
        compiled(lm.ones((2, width)), lm.ones((2, width)))
    with pytest.raises(TraceError, match="specialised for the 9th time"):
        compiled(lm.ones((2, 10)), lm.ones((2, 10)))
    with pytest.raises(Exception, match="no axis 0 that could vary"):
        compiled(lm.ones(()), lm.ones(()))


def test_the_length_used_longest_ago_goes_when_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sizes, "MAX_SIZES", 3)
    total = lm.compile(lambda x: x.sum(), dynamic={"x": 0})
    for size, left in [(1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (1, [1, 2, 3]), (4, [1, 3, 4])]:
        assert total(lm.ones((size,))).item() == size
        kept = [one.signature for one in total.cache_info().variants]
        assert kept == [(f"x: float32[{length}]",) for length in left]


def test_programs_that_hold_no_longer_count_for_sizes_that_vary() -> None:
    factor = 0.0
    compiled = lm.compile(lambda x: x * factor, dynamic={"x": 0}, max_variants=3)
    for factor in (1.0, 2.0, 3.0):
        compiled(lm.ones((2,)))
        assert compiled(lm.ones((3,))).tolist() == [factor] * 3
    factor = 4.0
    with pytest.raises(TraceError, match=r"factor: 3\.0 -> 4\.0"):
        compiled(lm.ones((2,)))


WEIGHT = lm.random.normal((64, 64), generator=lm.random.Generator(0))


def mixed(x: Any) -> Any:
    return ((x @ WEIGHT).tanh() @ WEIGHT).softmax(axis=-1).cumsum(axis=0)


def rows(size: int) -> Any:
    return lm.random.normal((size, 64), generator=lm.random.Generator(size))


def live_bytes() -> int:
    gc.collect()
    return lm.memory_stats()["live_bytes"]


def test_plans_of_all_lengths_compute_in_one_arena_as_large_as_the_largest() -> None:
    compiled = lm.compile(mixed, dynamic={"x": 0})
    compiled(rows(300))
    largest = compiled.cache_info().arena_bytes
    before = live_bytes()
    for size in [*range(200), *range(199, -1, -7)]:
        x = rows(size)
        assert compiled(x).tolist() == mixed(x).tolist()
    del x
    assert live_bytes() == before
    info = compiled.cache_info()
    assert len(info.variants) == 201
    needs = [one.arena_bytes for one in info.variants]
    assert info.arena_bytes == largest == max(needs) > needs[-1] > 0
    assert f"an arena of {largest:,} bytes" in str(info)
    assert f"held for all plans {largest:,}" in compiled.explain(rows(3))


def test_the_arena_grows_with_the_largest_and_goes_with_what_was_compiled() -> None:
    compiled = lm.compile(mixed, dynamic={"x": 0})
    compiled(rows(2))
    before = live_bytes() - compiled.cache_info().arena_bytes
    for size in (30, 60, 600):
        assert compiled(rows(size)).tolist() == mixed(rows(size)).tolist()
        assert live_bytes() == before + compiled.cache_info().arena_bytes
    compiled.clear()
    assert compiled.cache_info().arena_bytes == 0
    assert live_bytes() == before
    assert compiled(rows(2)).tolist() == mixed(rows(2)).tolist()


def test_threads_call_different_lengths_at_once() -> None:
    compiled = lm.compile(mixed, dynamic={"x": 0})
    given = [rows(size) for size in (600, 40, 500, 3)]
    wanted = [mixed(x).tolist() for x in given]
    for x in given:
        compiled(x)
    before = live_bytes()
    right: list[bool] = []

    def work(first: int) -> None:
        places = [at % 4 for at in range(first, first + 40)]
        right.extend([compiled(given[at]).tolist() == wanted[at] for at in places])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 160
    assert live_bytes() == before


def test_another_length_may_be_called_from_within_a_callback() -> None:
    @lm.custom_op(infer=lambda x: x)
    def inner(x: Any) -> Any:
        return lm.full(x.shape, float(outer(lm.ones((x.shape[0] - 1,))).item()))

    @inner.gradient
    def _(grad: Any) -> Any:
        return grad

    @lm.compile(dynamic={"x": 0})
    def outer(x: Any) -> Any:
        double = x * 2.0 + x.sum()
        if x.shape[0] > 1:
            return (inner(double) + double.cumsum()).sum()
        return double.sum()

    def expected(size: int) -> float:
        before = expected(size - 1) if size > 1 else 0.0
        return size * before + (2.0 + size) * (size * (size + 1) / 2 if size > 1 else 1.0)

    for size in (4, 1, 5, 2, 5, 4):
        assert outer(lm.ones((size,))).item() == expected(size)
    before = live_bytes()
    assert outer(lm.ones((5,))).item() == expected(5)
    assert live_bytes() == before


def test_an_error_within_a_call_leaves_the_arena_to_the_next() -> None:
    fails = False

    @lm.custom_op
    def same(x: Any) -> Any:
        if fails:
            raise ValueError("not now")
        return x

    @same.gradient
    def _(grad: Any) -> Any:
        return grad

    compiled = lm.compile(lambda x: same(mixed(x)) * 2.0, dynamic={"x": 0})
    for size in (9, 5):
        compiled(rows(size))
    before = live_bytes()
    fails = True
    for size in (5, 9):
        with pytest.raises(ValueError, match="not now"):
            compiled(rows(size))
    fails = False
    assert live_bytes() == before
    for size in (9, 5):
        assert compiled(rows(size)).tolist() == (mixed(rows(size)) * 2.0).tolist()
