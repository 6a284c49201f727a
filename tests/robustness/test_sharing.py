"""Memory that came in or went out by any way: writes to it are noticed by what was saved of it."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.errors import (
    ArgumentError,
    DeviceError,
    DTypeError,
    ReadOnlyError,
    SavedTensorMutatedError,
)


class _Foreign:
    """Another library's array: NumPy's memory through DLPack, without being NumPy's."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


IN: dict[str, Callable[[Any], Any]] = {
    "from_numpy": lm.from_numpy,
    "from_numpy of a view": lambda array: lm.from_numpy(array[::-1][:2]),
    "from_dlpack": lm.from_dlpack,
    "from_dlpack of another library": lambda array: lm.from_dlpack(_Foreign(array)),
    "from_dlpack of a view": lambda array: lm.from_dlpack(_Foreign(array[1:])),
}
OUT: dict[str, Callable[[Any], Any]] = {
    "numpy and back": lambda x: lm.from_numpy(x.numpy()),
    "a view of numpy and back": lambda x: lm.from_numpy(x.numpy()[1:]),
    "numpy as other numbers": lambda x: lm.from_numpy(x.numpy().view(np.int32)),
    "dlpack and back": lm.from_dlpack,
    "dlpack, NumPy and back": lambda x: lm.from_numpy(np.from_dlpack(x)),
    "dlpack, another library and back": lambda x: lm.from_dlpack(_Foreign(np.from_dlpack(x))),
}


@pytest.mark.parametrize("second", IN)
@pytest.mark.parametrize("first", IN)
def test_two_tensors_on_one_array_share_its_version(first: str, second: str) -> None:
    array = np.arange(4, dtype=np.float32)
    x = IN[first](array).requires_grad_()
    y = (x * x).sum()
    with lm.no_grad():
        IN[second](array).zero_()
    with pytest.raises(SavedTensorMutatedError):
        y.backward()


@pytest.mark.parametrize("way", OUT)
def test_memory_that_comes_back_is_known(way: str) -> None:
    x = lm.arange(4.0, requires_grad=True)
    y = (x * x).sum()
    OUT[way](x.detach()).zero_()
    with pytest.raises(SavedTensorMutatedError):
        y.backward()


def test_memory_of_its_own_is_not_taken_for_anothers() -> None:
    arrays = [np.arange(4, dtype=np.float32) for _ in range(20)]
    tensors = [lm.from_dlpack(_Foreign(array)) for array in arrays]
    x = tensors[7].requires_grad_()
    y = (x * x).sum()
    for place, tensor in enumerate(tensors):
        if place != 7:
            tensor.zero_()
    assert y.backward()[x].tolist() == [0.0, 2.0, 4.0, 6.0]


def test_imports_and_exports_die_with_their_last_holder() -> None:
    before = 0
    for turn in range(3):
        array = np.arange(1000, dtype=np.float32)
        x = lm.from_dlpack(_Foreign(array))
        y = lm.from_dlpack(_Foreign(array))
        z = np.from_dlpack(x + 1.0)
        capsule = (x + 2.0).__dlpack__()
        assert (y.sum().item(), z[0]) == (499500.0, 1.0)
        del array, x, y, z, capsule
        gc.collect()
        now = lm.memory_stats()["live_storages"]
        assert now == before or turn == 0  # the first makes constants that stay
        before = now


class _Broken:
    """Something that claims to speak DLPack."""

    def __init__(self, capsule: Any, device: Any = (1, 0)) -> None:
        self.capsule, self.device = capsule, device

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> Any:
        return self.device


def test_what_is_no_dlpack_capsule_is_told() -> None:
    consumed = np.arange(3.0).__dlpack__()
    lm.from_dlpack(_Broken(consumed))
    for capsule in (1, None, "a", consumed):
        with pytest.raises(ArgumentError, match="from_dlpack: _Broken gave no DLPack capsule"):
            lm.from_dlpack(_Broken(capsule))
    for device in ((2, 0), None, "a", 1):
        with pytest.raises(DeviceError, match="not the CPU"):
            lm.from_dlpack(_Broken(None, device))
    for dtype in (np.complex64, np.uint32):
        with pytest.raises(DTypeError):
            lm.from_dlpack(_Foreign(np.ones(3, dtype=dtype)))


def test_arrays_whose_elements_overlap_are_frozen() -> None:
    steps = np.lib.stride_tricks.as_strided(np.arange(4.0), (3, 2), (8, 8))
    x = lm.from_numpy(steps)
    assert x.tolist() == [[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]]
    with pytest.raises(ReadOnlyError):
        x.add_(1.0)
    for view in (np.zeros((4, 6)).T[::-2, 1:], np.zeros((3, 1, 2))[:, :, ::-1], np.zeros((0, 3))):
        lm.from_numpy(view).add_(1.0)


@pytest.mark.parametrize("order", ["<", ">"])
def test_a_copy_is_made_of_any_layout_and_byte_order(order: str) -> None:
    array = np.arange(24).reshape(2, 3, 4).astype(f"{order}f4")[::-1, :, ::2].transpose(2, 0, 1)
    assert lm.tensor(array).tolist() == array.tolist()
    assert lm.tensor(np.float64(2.5).astype(f"{order}f8")).item() == 2.5
