"""The native runtime: memory, versions, overlap, threads, buffers, call sites."""

import gc
import io
import os
import random
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

from lumus import _native
from lumus.core.site import INTERNAL_PREFIXES

FLOAT64, FLOAT32, FLOAT16, BFLOAT16, INT64, INT32, INT16, INT8, UINT8, BOOL = range(10)
NUMPY_DTYPES = {
    FLOAT64: np.float64,
    FLOAT32: np.float32,
    FLOAT16: np.float16,
    BFLOAT16: np.uint16,
    INT64: np.int64,
    INT32: np.int32,
    INT16: np.int16,
    INT8: np.int8,
    UINT8: np.uint8,
    BOOL: np.bool_,
}


def numbered(*shape: int, dtype: int = FLOAT32) -> _native.Array:
    """An array whose elements are 0, 1, 2, ..."""
    array = _native.empty(dtype, shape)
    view = np.asarray(array)
    view[...] = np.arange(view.size).reshape(shape)
    return array


def borrow(values: npt.NDArray[np.float32], owner: object | None = None) -> _native.Array:
    """An array on NumPy's memory, as the layer above makes it."""
    low, high = np.lib.array_utils.byte_bounds(values)
    address = values.__array_interface__["data"][0]
    return _native.from_buffer(
        address,
        address - low,
        high - address,
        FLOAT32,
        values.shape,
        tuple(stride // 4 for stride in values.strides),
        not values.flags.writeable,
        values if owner is None else owner,
    )


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


# ------------------------------------------------------------------------------------------- memory


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 1000, 100_000, 2_000_000])
def test_empty_is_aligned_and_counted(size: int) -> None:
    before = _native.memory_stats()
    array = _native.empty(FLOAT32, (size,))
    during = _native.memory_stats()
    assert np.asarray(array).ctypes.data % 64 == 0
    assert during["live_bytes"] - before["live_bytes"] == 4 * size
    assert during["live_storages"] - before["live_storages"] == 1
    assert during["num_allocations"] - before["num_allocations"] == 1
    del array
    after = _native.memory_stats()
    assert after["live_bytes"] == before["live_bytes"]
    assert after["live_storages"] == before["live_storages"]


def test_large_block_is_aligned_to_huge_pages() -> None:
    array = _native.empty(UINT8, (5 << 20,))
    assert np.asarray(array).ctypes.data % (2 << 20) == 0


def test_freed_block_is_reused_by_the_next_request_of_its_size() -> None:
    array = _native.empty(FLOAT32, (3000,))
    address = np.asarray(array).ctypes.data
    del array
    # 2999 floats fall into the same size class.
    assert np.asarray(_native.empty(FLOAT32, (2999,))).ctypes.data == address


def test_peak_is_the_highest_since_reset() -> None:
    _native.reset_peak()
    base = _native.memory_stats()["live_bytes"]
    first = _native.empty(UINT8, (1000,))
    second = _native.empty(UINT8, (500,))
    del first, second
    assert _native.memory_stats()["peak_bytes"] == base + 1500
    _native.reset_peak()
    assert _native.memory_stats()["peak_bytes"] == base


def test_empty_cache_gives_everything_back() -> None:
    arrays = [_native.empty(UINT8, (size,)) for size in (10, 5000, 6 << 20)]
    del arrays
    assert _native.memory_stats()["cached_bytes"] >= 6 << 20
    _native.empty_cache()
    assert _native.memory_stats()["cached_bytes"] == 0


def test_views_share_the_storage_and_keep_it_alive() -> None:
    array = numbered(4, 5)
    view = array.slice((1, 0), (2, 5), (1, 1))
    assert view.storage_id == array.storage_id
    assert array.use_count == 2
    del array
    assert view.use_count == 1
    np.testing.assert_array_equal(np.asarray(view), np.arange(5, 15).reshape(2, 5))


def test_storage_ids_are_never_used_again() -> None:
    seen = set()
    for _ in range(100):  # each takes the memory that the one before has given back
        array = numbered(4, 5)
        assert array.storage_id not in seen
        seen.add(array.storage_id)
        del array


@pytest.mark.parametrize("shape", [(1 << 62,), (1 << 40, 1 << 40), (1 << 62, 2)])
def test_impossible_size_raises_memory_error_and_counts_nothing(shape: tuple[int, ...]) -> None:
    before = _native.memory_stats()
    with pytest.raises(MemoryError):
        _native.empty(FLOAT32, shape)
    assert _native.memory_stats() == before


def test_huge_empty_array_is_fine() -> None:
    array = _native.empty(FLOAT32, (1 << 40, 0, 1 << 40))
    assert array.nbytes == 0
    assert array.shape == (1 << 40, 0, 1 << 40)
    assert array.is_contiguous


def test_allocation_from_many_threads_is_consistent() -> None:
    before = _native.memory_stats()

    def churn(seed: int) -> None:
        generator = random.Random(seed)
        held: list[_native.Array] = []
        for _ in range(2000):
            held.append(_native.empty(UINT8, (generator.randrange(20_000),)))
            if len(held) > 20:
                held.pop(generator.randrange(len(held)))

    threads = [threading.Thread(target=churn, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    after = _native.memory_stats()
    assert after["live_bytes"] == before["live_bytes"]
    assert after["live_storages"] == before["live_storages"]
    assert after["num_allocations"] - before["num_allocations"] == 8000


# -------------------------------------------------------------------------------------------- views


def test_slice_with_negative_steps() -> None:
    array = numbered(4, 6)
    view = array.slice((3, 5), (2, 3), (-2, -2))
    np.testing.assert_array_equal(
        np.asarray(view), np.arange(24).reshape(4, 6)[3::-2, 5::-2].astype(np.float32)
    )
    assert view.strides == (-12, -2)
    assert not view.is_contiguous


def test_slice_of_nothing_stays_inside_its_storage() -> None:
    array = numbered(3)
    view = array.slice((3,), (0,), (1,))
    assert view.shape == (0,)
    assert np.asarray(view).ctypes.data == np.asarray(array).ctypes.data


def test_permute_and_broadcast() -> None:
    array = numbered(2, 3)
    np.testing.assert_array_equal(np.asarray(array.permute((1, 0))), np.asarray(array).T)
    wide = array.broadcast((4, 2, 3))
    assert wide.strides == (0, 3, 1)
    np.testing.assert_array_equal(np.asarray(wide), np.broadcast_to(np.asarray(array), (4, 2, 3)))


def shapes_of(size: int, rank: int) -> list[tuple[int, ...]]:
    if rank == 0:
        return [()] if size == 1 else []
    return [
        (first, *rest)
        for first in range(1, size + 1)
        if size % first == 0
        for rest in shapes_of(size // first, rank - 1)
    ]


def test_reshape_agrees_with_numpy_and_views_where_numpy_does() -> None:
    base = numbered(2, 3, 4)
    views = [
        base,
        base.permute((1, 0, 2)),
        base.permute((2, 1, 0)),
        base.slice((0, 0, 3), (2, 3, 4), (1, 1, -1)),
        base.slice((0, 0, 0), (2, 3, 2), (1, 1, 2)),
        base.slice((1, 0, 0), (1, 3, 4), (1, 1, 1)),
        base.slice((0, 0, 0), (2, 1, 4), (1, 1, 1)),
        numbered(4).broadcast((3, 4)),
    ]
    for view in views:
        expected = np.asarray(view)
        for rank in range(5):
            for shape in shapes_of(view.size, rank):
                result = view.reshape(shape)
                np.testing.assert_array_equal(np.asarray(result), expected.reshape(shape))
                is_view = view.reshape_view(shape) is not None
                assert is_view == np.shares_memory(expected.reshape(shape), expected), shape
                assert is_view == (result.storage_id == view.storage_id)


def test_is_whole_only_for_all_of_the_storage_in_order() -> None:
    array = numbered(4, 5)
    assert array.is_whole
    assert array.reshape((20,)).is_whole
    assert not array.slice((0, 0), (3, 5), (1, 1)).is_whole
    assert not array.permute((1, 0)).is_whole


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_item_reads_each_dtype(dtype: int) -> None:
    array = _native.empty(dtype, ())
    np.asarray(array)[...] = 0x3FC0 if dtype == BFLOAT16 else 1
    expected = {BFLOAT16: 1.5, BOOL: True}.get(dtype, 1)
    assert array.item() == expected
    assert type(array.item()) is (bool if dtype == BOOL else float if dtype < INT64 else int)


def test_too_many_axes_raise() -> None:
    assert _native.empty(FLOAT32, (1,) * 16).shape == (1,) * 16
    with pytest.raises(ValueError, match="at most 16 axes"):
        _native.empty(FLOAT32, (1,) * 17)


# ------------------------------------------------------------------------------------------ buffers


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_numpy_sees_the_same_memory(dtype: int) -> None:
    array = numbered(2, 3, dtype=dtype)
    view = np.asarray(array)
    assert view.dtype is np.dtype(NUMPY_DTYPES[dtype])
    view[1, 2] = 0
    assert np.asarray(array)[1, 2] == 0
    assert array.itemsize == view.itemsize


def test_numpy_sees_negative_strides() -> None:
    view = np.asarray(numbered(3, 4).slice((2, 3), (3, 4), (-1, -1)))
    assert view.strides == (-16, -4)
    np.testing.assert_array_equal(view, np.arange(11, -1, -1).reshape(3, 4))


def test_numpy_array_keeps_the_storage_alive() -> None:
    view = np.asarray(numbered(100))
    gc.collect()
    np.testing.assert_array_equal(view, np.arange(100))


def test_frozen_and_broadcast_arrays_are_read_only_buffers() -> None:
    array = numbered(3)
    assert not np.asarray(array.broadcast((2, 3))).flags.writeable
    assert np.asarray(array).flags.writeable
    view = array.alias()
    array.freeze()
    assert view.readonly
    assert not np.asarray(view).flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(view)[0] = 1


def test_consumer_without_strides_is_refused_a_strided_array() -> None:
    strided = numbered(4, 4).permute((1, 0))
    with pytest.raises(BufferError, match="consumer asked for no strides"):
        io.BytesIO().write(strided)
    assert io.BytesIO().write(numbered(4, 4)) == 64


# ---------------------------------------------------------------------------------------- borrowing


def test_arrays_on_one_owner_share_one_storage() -> None:
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    whole = borrow(values)
    column = borrow(values[:, 1], owner=values)
    flipped = borrow(values[::-1, ::-1], owner=values)
    assert whole.storage_id == column.storage_id == flipped.storage_id
    np.testing.assert_array_equal(np.asarray(flipped), values[::-1, ::-1])
    np.asarray(whole)[0, 1] = -1
    assert values[0, 1] == -1
    assert np.asarray(column)[0] == -1
    whole.note_write("copy_", None)
    assert column.version == 1


def test_owner_is_released_with_the_last_array() -> None:
    values = np.arange(5, dtype=np.float32)
    dead = weakref.ref(values)
    first = borrow(values)
    second = first.alias()
    storages = _native.memory_stats()["live_storages"]
    del values, first
    assert dead() is not None
    del second
    assert dead() is None
    assert _native.memory_stats()["live_storages"] == storages - 1


def test_read_only_memory_gives_a_read_only_array_on_the_same_storage() -> None:
    values = np.arange(5, dtype=np.float32)
    frozen = values.view()
    frozen.flags.writeable = False
    writable = borrow(values)
    readonly = borrow(frozen, owner=values)
    assert readonly.readonly
    assert readonly.slice((1,), (2,), (1,)).readonly
    assert readonly.reshape((5, 1)).readonly
    assert not writable.readonly
    assert readonly.storage_id == writable.storage_id


def test_numpy_view_of_lumus_memory_comes_back_on_its_storage() -> None:
    array = numbered(6)
    view = np.asarray(array)
    owner = view.base
    assert isinstance(owner, memoryview)
    assert borrow(view[2:4], owner=owner).storage_id == array.storage_id


# ------------------------------------------------------------------------------------------- DLPack


class Capsule:
    """What `np.from_dlpack` asks of an object."""

    def __init__(self, array: _native.Array) -> None:
        self.array = array

    def __dlpack__(self, *, max_version: tuple[int, int] | None = None, **_: object) -> object:
        return _native.to_dlpack(self.array, max_version is not None, False)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def test_dlpack_to_numpy_shares_memory() -> None:
    array = numbered(3, 4).permute((1, 0))
    view = np.from_dlpack(Capsule(array))
    np.testing.assert_array_equal(view, np.asarray(array))
    assert np.shares_memory(view, np.asarray(array))


def test_dlpack_from_numpy_shares_memory_and_owner() -> None:
    values = np.arange(12, dtype=np.int16).reshape(3, 4)[::-1, ::2]
    array = _native.from_dlpack(values.__dlpack__())
    assert array.strides == (-4, 2)
    np.testing.assert_array_equal(np.asarray(array), values)
    assert np.shares_memory(np.asarray(array), values)


def test_dlpack_read_only_flag_is_kept_and_needs_version_one() -> None:
    values = np.arange(3, dtype=np.float32)
    values.flags.writeable = False
    array = _native.from_dlpack(values.__dlpack__(max_version=(1, 0)))
    assert array.readonly
    assert not np.from_dlpack(Capsule(array)).flags.writeable
    with pytest.raises(BufferError, match="read-only"):
        _native.to_dlpack(array, False, False)


@pytest.mark.parametrize("versioned", [False, True])
def test_dlpack_round_trip_stays_on_its_storage(versioned: bool) -> None:
    array = numbered(3, dtype=BFLOAT16)
    back = _native.from_dlpack(_native.to_dlpack(array, versioned, False))
    assert back.storage_id == array.storage_id
    assert back.dtype == BFLOAT16
    del back
    assert array.use_count == 1


def test_dlpack_refuses_what_it_cannot_hold() -> None:
    with pytest.raises(BufferError, match="type code 5"):
        _native.from_dlpack(np.zeros(2, np.complex64).__dlpack__())
    capsule = np.zeros(2, np.float32).__dlpack__()
    _native.from_dlpack(capsule)
    with pytest.raises(ValueError, match="consumed"):
        _native.from_dlpack(capsule)


# ----------------------------------------------------------------------------------------- versions


def test_write_bumps_the_version_of_every_view() -> None:
    array = numbered(4)
    view = array.slice((0,), (2,), (1,))
    assert view.version == 0
    array.note_write("add_", "site")
    assert view.version == 1
    assert view.overwritten_since(0) == ("add_", "site")
    assert view.overwritten_since(1) is None


def test_write_to_disjoint_column_is_not_an_overwrite() -> None:
    array = numbered(5, 4)
    left = array.slice((0, 0), (5, 2), (1, 1))
    right = array.slice((0, 2), (5, 2), (1, 1))
    left.note_write("zero_", None)
    assert right.overwritten_since(0) is None
    assert left.overwritten_since(0) == ("zero_", None)
    assert array.overwritten_since(0) == ("zero_", None)


def test_first_overlapping_write_is_named() -> None:
    array = numbered(4)
    array.slice((0,), (1,), (1,)).note_write("elsewhere", 1)
    array.note_write("first", 2)
    array.note_write("second", 3)
    assert array.slice((2,), (2,), (1,)).overwritten_since(0) == ("first", 2)
    assert array.overwritten_since(2) == ("second", 3)


def test_repeated_writes_do_not_make_the_journal_forget_others() -> None:
    array = numbered(2, 8)
    top = array.slice((0, 0), (1, 8), (1, 1))
    bottom = array.slice((1, 0), (1, 8), (1, 1))
    for step in range(100):
        top.note_write("add_", step)
    assert bottom.overwritten_since(0) is None
    bottom.note_write("mul_", "late")
    assert bottom.overwritten_since(0) == ("mul_", "late")
    assert array.version == 101


def test_the_same_write_again_and_again_is_one_entry_of_many_versions() -> None:
    array = numbered(64)
    array.slice((0,), (1,), (1,)).note_write("first", 0)
    part = array.slice((1,), (1,), (1,))
    repeated = _native.Writes([(part, "step", "here")], [])
    for _ in range(1000):
        repeated.note([])
    assert array.version == 1001
    assert array.overwritten_since(0) == ("first", 0)
    assert part.overwritten_since(500) == ("step", "here")
    part.rewind(400)
    assert array.version == 400
    assert part.overwritten_since(399) == ("step", "here")
    assert part.overwritten_since(400) is None
    repeated.note([])
    assert part.overwritten_since(400) == ("step", "here")
    part.rewind(0)
    assert array.overwritten_since(0) is None


def test_forgotten_writes_count_as_unknown_in_their_byte_range() -> None:
    array = numbered(64)
    saved = array.slice((0,), (1,), (1,))
    far = array.slice((60,), (4,), (1,))
    for at in range(1, 40):
        array.slice((at,), (1,), (1,)).note_write("fill_", at)
    assert saved.overwritten_since(0) is None
    assert far.overwritten_since(0) is None
    assert array.slice((1,), (1,), (1,)).overwritten_since(0) == ("unknown", None)
    assert array.slice((39,), (1,), (1,)).overwritten_since(0) == ("fill_", 39)
    assert array.slice((1,), (1,), (1,)).overwritten_since(30) is None


def test_journal_is_bounded_and_releases_what_it_drops() -> None:
    class Place:
        pass

    array = numbered(4)
    places = [Place() for _ in range(50)]
    alive = [weakref.ref(place) for place in places]
    for place in places:
        array.note_write("add_", place)
    del places, place
    assert sum(ref() is not None for ref in alive) == 16
    del array
    assert all(ref() is None for ref in alive)


def test_overlap_is_exact_for_random_views() -> None:
    generator = random.Random(3)
    for _ in range(3000):
        shape = tuple(generator.choice((1, 2, 3, 5)) for _ in range(generator.randrange(1, 4)))
        array = _native.empty(INT8, shape)
        numbers = np.arange(array.size).reshape(shape)
        views: list[_native.Array] = []
        elements: list[set[int]] = []
        for _ in range(2):
            view, cells = array, numbers
            if generator.random() < 0.3:
                # Another grid: a reshape that slices cannot be told from by strides alone.
                flat = (array.size,)
                view, cells = view.reshape(flat), cells.reshape(flat)
            steps = [generator.choice((1, 2, 3, -1, -2)) for _ in cells.shape]
            starts = [generator.randrange(length) for length in cells.shape]
            sizes = []
            for length, start, step in zip(cells.shape, starts, steps, strict=True):
                room = (length - 1 - start) // step if step > 0 else start // -step
                sizes.append(generator.randint(0 if generator.random() < 0.05 else 1, room + 1))
            view = view.slice(tuple(starts), tuple(sizes), tuple(steps))
            index = np.ix_(
                *(
                    start + step * np.arange(size)
                    for start, step, size in zip(starts, steps, sizes, strict=True)
                )
            )
            order = list(range(len(view.shape)))
            generator.shuffle(order)
            views.append(view.permute(tuple(order)))
            elements.append(set(cells[index].ravel().tolist()))
        views[0].note_write("write", None)
        overlaps = views[1].overwritten_since(0) is not None
        assert overlaps == bool(elements[0] & elements[1]), (shape, views[0].shape, views[1].shape)


def test_overlap_of_large_disjoint_columns_is_decided_without_a_walk() -> None:
    array = _native.empty(INT8, (1 << 12, 1 << 12))
    even = array.slice((0, 0), (1 << 12, 1 << 11), (1, 2))
    odd = array.slice((0, 1), (1 << 12, 1 << 11), (1, 2))
    even.note_write("fill_", None)
    assert odd.overwritten_since(0) is None
    assert array.permute((1, 0)).overwritten_since(0) is not None


# ------------------------------------------------------------------------------------------ threads


@pytest.fixture
def restore_threads() -> Iterator[None]:
    before = _native.num_threads()
    yield
    _native.set_num_threads(before)


@pytest.mark.usefixtures("restore_threads")
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_pool_runs_each_piece_once(threads: int) -> None:
    _native.set_num_threads(threads)
    assert _native.num_threads() == threads
    for count, grain in [(0, 1), (1, 1), (7, 1), (1000, 7), (1000, 1000), (5, 100), (4096, 1)]:
        for _ in range(50):
            assert _native.check_thread_pool(count, grain)


@pytest.mark.usefixtures("restore_threads")
def test_pool_is_shared_by_many_python_threads() -> None:
    _native.set_num_threads(3)
    results: list[bool] = []

    def use() -> None:
        results.extend(_native.check_thread_pool(2000, 3) for _ in range(100))

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 400
    assert all(results)


def test_number_of_threads_must_be_positive() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        _native.set_num_threads(0)


def test_pool_and_allocator_work_in_a_forked_child() -> None:
    code = """
import os, threading, warnings
warnings.simplefilter("ignore")  # newer Pythons warn about threads and fork
from lumus import _native
_native.set_num_threads(3)
assert _native.check_thread_pool(10000, 10)
stop = False
def churn():
    while not stop:
        _native.empty(8, (1000,))
        _native.check_thread_pool(1000, 10)
threads = [threading.Thread(target=churn) for _ in range(3)]
for thread in threads: thread.start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        ok = all(_native.check_thread_pool(1000, 7) for _ in range(20))
        held = [_native.empty(8, (size,)) for size in range(0, 5000, 100)]
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
stop = True
for thread in threads: thread.join()
"""
    result = run_python(code)
    assert result.returncode == 0, result.stderr


def test_arrays_that_outlive_the_module_do_no_harm() -> None:
    code = """
import builtins, numpy as np
from lumus import _native
_native.set_num_threads(4)
_native.check_thread_pool(1000, 1)
builtins.kept = [_native.empty(0, (size,)) for size in (10, 10000, 1000000)]
builtins.kept[0].note_write("add_", object())
builtins.view = np.asarray(builtins.kept[1])
"""
    result = run_python(code)
    assert (result.returncode, result.stderr) == (0, "")


# -------------------------------------------------------------------------------------- environment


@pytest.mark.parametrize("isa", _native.available_isas())
def test_instruction_set_can_be_forced(isa: str) -> None:
    result = run_python("from lumus import _native; print(_native.isa())", LUMUS_ISA=isa)
    assert result.stdout.strip() == isa


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("LUMUS_ISA", "v9", "LUMUS_ISA='v9' is not an instruction set of this build: "),
        ("LUMUS_NUM_THREADS", "many", "LUMUS_NUM_THREADS='many' is not a number of threads"),
        ("LUMUS_NUM_THREADS", "0", "LUMUS_NUM_THREADS='0' is not a number of threads"),
    ],
)
def test_bad_environment_is_one_clear_import_error(variable: str, value: str, message: str) -> None:
    result = run_python("from lumus import _native", **{variable: value})
    assert result.returncode == 1
    assert f"ImportError: {message}" in result.stderr


def test_number_of_threads_comes_from_the_environment() -> None:
    code = "from lumus import _native; print(_native.num_threads())"
    assert run_python(code, LUMUS_NUM_THREADS="5").stdout.strip() == "5"


def test_build_info_names_compiler_and_instruction_sets() -> None:
    info = _native.build_info()
    assert info["isa"] == _native.isa()
    assert set(info["available_isas"]) <= set(info["compiled_isas"])
    assert info["compiler"].split()[0] in {"gcc", "clang"}


# --------------------------------------------------------------------------------------- call sites


def make_internal(prefix: str) -> dict[str, object]:
    """Functions whose file is the library's own, as far as the native side knows."""
    source = """
def one(f): return f()
def two(f): return one(f)
def three(f): return [value for value in (two(f),)][0]
class Meta:
    def __add__(self, f): return three(f)
def generate(f):
    yield three(f)
"""
    namespace: dict[str, object] = {}
    exec(compile(source, prefix + "ops/engine.py", "exec"), namespace)
    return namespace


@pytest.fixture
def internal() -> Iterator[dict[str, object]]:
    _native.set_internal_prefixes(("/nowhere/library/",))
    yield make_internal("/nowhere/library/")
    _native.set_internal_prefixes(INTERNAL_PREFIXES)


def current_line(site: _native.Site) -> int:
    lines = [
        line
        for start, end, line in site.code.co_lines()
        if start <= site.lasti < end and line is not None
    ]
    return lines[0]


def test_call_site_is_the_caller_when_nothing_is_internal() -> None:
    site = _native.call_site()
    assert site.code is sys._getframe().f_code
    assert current_line(site) == site.code.co_firstlineno + 1


@pytest.mark.parametrize("name", ["one", "two", "three"])
def test_call_site_skips_internal_frames(internal: dict[str, object], name: str) -> None:
    function = internal[name]
    assert callable(function)
    for _ in range(20):  # also once the interpreter has specialised the calls
        site = function(_native.call_site)
        line = sys._getframe().f_lineno - 1
        assert site.code is sys._getframe().f_code
        assert current_line(site) == line


def test_call_site_through_operators_generators_and_callbacks(internal: dict[str, object]) -> None:
    meta = internal["Meta"]
    generate = internal["generate"]
    assert callable(meta)
    assert callable(generate)
    assert (meta() + _native.call_site).code is sys._getframe().f_code
    assert next(generate(_native.call_site)).code is sys._getframe().f_code
    sites = [internal["two"](_native.call_site) for _ in range(1)]  # type: ignore[operator]
    assert sites[0].code.co_filename == __file__
    # Through C: map and sorted call back from native frames.
    assert next(map(internal["two"], [_native.call_site])).code is sys._getframe().f_code  # type: ignore[arg-type]


def test_call_site_of_internal_code_alone_is_its_outermost_frame(
    internal: dict[str, object],
) -> None:
    found: list[_native.Site] = []
    two = internal["two"]
    assert callable(two)

    class Recorder:
        def __call__(self) -> None:
            found.append(_native.call_site())

    _native.set_internal_prefixes(("",))  # every file
    two(Recorder())
    assert found[0].code.co_filename != "/nowhere/library/ops/engine.py"


def test_call_site_keeps_no_frame_alive(internal: dict[str, object]) -> None:
    class Local:
        pass

    two = internal["two"]
    assert callable(two)

    def scope() -> tuple[_native.Site, weakref.ref[Local]]:
        local = Local()
        return two(_native.call_site), weakref.ref(local)

    gc.disable()
    try:
        site, local = scope()
        assert local() is None
        assert site.code.co_name == "scope"
    finally:
        gc.enable()


def test_call_site_leaks_no_references(internal: dict[str, object]) -> None:
    three = internal["three"]
    assert callable(three)
    code = sys._getframe().f_code
    three(_native.call_site)
    before = sys.getrefcount(code)
    for _ in range(1000):
        three(_native.call_site)
    assert sys.getrefcount(code) == before
    sites = [three(_native.call_site) for _ in range(10)]
    assert sys.getrefcount(code) - before <= 1
    del sites


def test_call_site_survives_endless_files() -> None:
    for number in range(5000):
        namespace = {"f": _native.call_site}
        exec(compile("site = f()", f"<generated {number}>", "exec"), namespace)
    assert namespace["site"].code.co_filename == "<generated 4999>"  # type: ignore[union-attr]


def test_site_cannot_be_made_by_hand() -> None:
    with pytest.raises(TypeError):
        _native.Site()
