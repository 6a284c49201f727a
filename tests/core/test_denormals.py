"""Denormal results: zero unless the user asks for them, and nobody else's arithmetic changes."""

import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import lumus as lm
from lumus import _native
from lumus.errors import ArgumentError
from lumus.nn import functional
from tests.native.native_arrays import DTYPES, native, to_numpy

TINY = float(np.finfo(np.float32).tiny)  # the smallest normal number
TINY64 = float(np.finfo(np.float64).tiny)

pytestmark = pytest.mark.skipif(not lm.flushes_denormal(), reason="only x86 flushes")


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    yield
    lm.set_flush_denormal(True)


def filled(*shape: int, value: float) -> lm.Tensor[lm.Float]:
    return lm.full(shape, value)


# Each gives float32 numbers between 0 and TINY, by arithmetic of its own.
OPERATIONS: dict[str, Callable[[], lm.Tensor[lm.Float]]] = {
    "multiply": lambda: filled(35, value=1e-20) * 1e-20,
    "subtract": lambda: filled(35, value=1.5 * TINY) - TINY,
    "divide": lambda: filled(35, value=TINY) / 3.0,
    "exp": lambda: filled(35, value=-90.0).exp(),
    "sigmoid": lambda: filled(35, value=-89.0).sigmoid(),
    "square": lambda: filled(35, value=1e-20).square(),
    "cast": lambda: filled(35, value=1e-40).astype(lm.float64).astype(lm.float32) * 1.0,
    "sum": lambda: (filled(2, value=1.0) * lm.tensor([-TINY, 1.5 * TINY])).sum(),
    "mean": lambda: filled(70, value=TINY).mean() * 0.5,
    "matmul": lambda: filled(5, 7, value=1e-20) @ filled(7, 20, value=1e-20),
    "matmul of few rows": lambda: filled(1, 7, value=1e-20) @ filled(20, 7, value=1e-20).T,
    "softmax": lambda: lm.tensor([0.0, -90.0]).softmax(axis=0)[1],
    "conv2d": lambda: functional.conv2d(
        filled(1, 1, 6, 6, value=1e-20), filled(3, 1, 3, 3, value=1e-20)
    ),
    "cumsum": lambda: lm.tensor([-TINY, 1.5 * TINY]).cumsum()[1],
    "prod": lambda: filled(2, value=1e-20).prod(),
}


def numbers(result: lm.Tensor[lm.Float]) -> np.ndarray:
    return np.asarray(result).reshape(-1)


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_denormal_result_is_zero(name):
    assert (numbers(OPERATIONS[name]()) == 0).all()
    assert (numbers(lm.compile(OPERATIONS[name])()) == 0).all()


@pytest.mark.parametrize("name", OPERATIONS)
def test_without_flushing_it_is_there(name):
    lm.set_flush_denormal(False)
    assert not lm.flushes_denormal()
    for function in (OPERATIONS[name], lm.compile(OPERATIONS[name])):
        found = numbers(function())
        assert (found > 0).all()
        assert (found < TINY).all()


def test_float64_is_flushed_below_its_own_smallest_number():
    x = lm.tensor([1e-200, -1e-200], dtype=lm.float64)
    assert (x * 1e-100).tolist() == [1e-300, -1e-300]
    flushed = np.asarray(x * 1e-110)
    assert flushed.tolist() == [0.0, 0.0]
    assert np.signbit(flushed).tolist() == [False, True]
    lm.set_flush_denormal(False)
    np.testing.assert_array_equal(np.asarray(x * 1e-110), np.array([1e-310, -1e-310]))


def test_the_smallest_normal_number_stays():
    assert (filled(70, value=2 * TINY) * 0.5 == TINY).all()
    assert (filled(70, value=TINY) + 0.0 == TINY).all()


def test_operands_count_as_they_are():
    x = lm.tensor([3e-40, -1e-40, 0.0])
    np.testing.assert_array_equal(np.asarray(x), np.array([3e-40, -1e-40, 0.0], np.float32))
    assert (x > 0).tolist() == [True, False, False]
    assert (x == 0).tolist() == [False, False, True]
    assert x.max().item() == np.float32(3e-40)
    assert x.argmin().item() == 1
    assert x.abs().tolist() == np.abs(np.asarray(x)).tolist()
    assert (-x).tolist() == (-np.asarray(x)).tolist()
    assert x.sort().tolist() == np.sort(np.asarray(x)).tolist()
    assert lm.where(x > 0, x, 0.0).tolist()[0] == np.float32(3e-40)
    assert (x * 1e10).tolist() == (np.asarray(x) * np.float32(1e10)).tolist()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_every_number_of_half_precision_survives_widening_and_back(dtype):
    bits = np.arange(1 << 16, dtype=np.uint16)
    code, kind = DTYPES[dtype]
    wide_code = DTYPES["float32"][0]
    x = native(bits.view(kind))
    wide = _native.cast(x, wide_code)
    back = to_numpy(_native.cast(wide, code)).view(np.uint16)
    kept = ~np.isnan(to_numpy(wide))
    np.testing.assert_array_equal(back[kept], bits[kept])
    lm.set_flush_denormal(False)
    np.testing.assert_array_equal(to_numpy(_native.cast(x, wide_code))[kept], to_numpy(wide)[kept])


def test_all_threads_compute_alike():
    threads = lm.num_threads()
    large = 1 << 21  # pieces for every thread
    try:
        lm.set_num_threads(4)
        for flushes in (True, False, True):
            lm.set_flush_denormal(flushes)
            for _ in range(3):
                product = np.asarray(filled(large, value=1e-20) * 1e-20)
                assert (product == (0 if flushes else np.float32(1e-40))).all()
    finally:
        lm.set_num_threads(threads)


def test_a_thread_of_the_users_own_computes_alike():
    found = []
    thread = threading.Thread(
        target=lambda: found.extend((filled(3, value=1e-20) * 1e-20).tolist())
    )
    thread.start()
    thread.join()
    assert found == [0.0, 0.0, 0.0]


def numpy_keeps_denormals() -> bool:
    return bool((np.full(40, 1e-20, np.float32) * np.float32(1e-20) > 0).all())


def test_the_arithmetic_of_numpy_is_left_alone():
    for operation in OPERATIONS.values():
        operation()
        assert numpy_keeps_denormals()
    with pytest.raises(lm.errors.LumusError):
        lm.tensor([1, 2])[lm.tensor([5])]
    assert numpy_keeps_denormals()


def test_a_callback_within_a_plan_meets_the_arithmetic_of_numpy():
    kept = []

    @lm.custom_op
    def halved(x):
        kept.append(numpy_keeps_denormals())
        return lm.from_numpy(np.asarray(x) / 2)

    @lm.compile
    def step(x):
        return halved(x * 1e-20) * 1e-20

    for _ in range(3):
        assert (np.asarray(step(filled(40, value=1.0))) == 0).all()
    assert kept
    assert all(kept)


def test_moments_of_adam_that_decay_never_become_denormal():
    ends = []
    for compiles in (False, True):
        weight = lm.ones((20,), requires_grad=True)
        optimizer = lm.optim.Adam([weight], lr=1e-3)

        def step(scale, weight=weight, optimizer=optimizer):
            optimizer.step((weight * scale).sum().backward())

        run = lm.compile(step) if compiles else step
        run(lm.tensor(1e-10))
        for _ in range(900):
            run(lm.tensor(0.0))
        state = optimizer.state[0]
        ends.append([np.asarray(value) for value in state.values() if isinstance(value, lm.Tensor)])
    for eager, compiled in zip(*ends, strict=True):
        assert ((eager == 0) | (abs(eager) >= TINY)).all()
        np.testing.assert_array_equal(eager, compiled)


def test_a_wrong_value_changes_nothing():
    with pytest.raises(ArgumentError, match="set_flush_denormal: flush must be True or False"):
        lm.set_flush_denormal("no")  # type: ignore[arg-type]
    assert lm.flushes_denormal()
