"""Random indices on random views: reads and the three writes, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lumus as lm
from lumus.errors import LumusError

DTYPES = [np.float64, np.float32, np.float16, np.int64, np.int8, np.uint8, np.bool_]
STEPS = [1, 2, 3, -1, -2, -3, 100, -100, 2**62, -(2**62)]


class Draw:
    """Arrays, views and index expressions from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def happens(self, chance: float) -> bool:
        return bool(self.random.random() < chance)

    def one_of(self, values: list[Any]) -> Any:
        return values[int(self.random.integers(len(values)))]

    def shape(self) -> tuple[int, ...]:
        lengths = [0, 1, 1, 2, 3, 4, 5]
        return tuple(self.one_of(lengths) for _ in range(self.random.integers(0, 5)))

    def array(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return np.asarray(self.random.integers(0, 100, size=shape)).astype(dtype)

    def view(self, array: Any) -> Any:
        if array.ndim and self.happens(0.5):
            array = array.transpose(self.random.permutation(array.ndim))
        if array.ndim and self.happens(0.5):
            array = array[
                tuple(slice(None, None, self.one_of([1, -1, 2, -2])) for _ in array.shape)
            ]
        return np.broadcast_to(array, (2, *array.shape)) if self.happens(0.1) else array

    def item(self, length: int) -> Any:
        """An index of one axis; now and then one that is out of range."""
        kind = self.random.random()
        if kind < 0.25:
            inside = length and self.happens(0.93)
            return int(self.random.integers(-length - (not inside), length + (not inside)))
        if kind < 0.6:
            ends = [
                None if self.happens(0.3) else int(self.random.integers(-length - 2, length + 3))
                for _ in range(2)
            ]
            return slice(*ends, None if self.happens(0.4) else self.one_of(STEPS))
        if kind < 0.9:
            shape = tuple(self.one_of([0, 1, 2, 3]) for _ in range(self.random.integers(0, 3)))
            reach = length if length and self.happens(0.97) else length + 1
            indices = self.random.integers(-reach, reach, size=shape)
            return np.asarray(indices).astype(self.one_of([np.int64, np.int32, np.int8]))
        return self.random.random(length) < 0.5

    def index(self, array: Any) -> Any:
        items: list[Any] = []
        axis = 0
        while axis < array.ndim and self.happens(0.85):
            if self.happens(0.12):
                items.append(None)
            elif axis + 2 <= array.ndim and self.happens(0.1):
                items.append(self.random.random(array.shape[axis : axis + 2]) < 0.5)
                axis += 2
            else:
                items.append(self.item(array.shape[axis]))
                axis += 1
        if self.happens(0.3):
            items.append(...)
        return items[0] if len(items) == 1 and self.happens(0.5) else tuple(items)

    def spelled(self, index: Any) -> Any:
        """The same index with its arrays as tensors, arrays or lists."""
        if isinstance(index, tuple):
            return tuple(self.spelled(item) for item in index)
        if not isinstance(index, np.ndarray) or self.happens(0.3):
            return index
        return (
            index.tolist() if index.size and index.ndim and self.happens(0.5) else lm.tensor(index)
        )

    def values(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Something that broadcasts to `shape`, if not always."""
        kept = tuple(1 if self.happens(0.2) else length for length in shape)
        if self.happens(0.3):
            kept = kept[int(self.random.integers(0, len(kept) + 1)) :]
        return self.array((1, *kept) if self.happens(0.1) else kept, dtype)


def _places(array: Any, index: Any) -> Any:
    """Which elements, by their number in row-major order, the index selects."""
    return np.arange(array.size).reshape(array.shape)[index]


def _written(array: Any, places: Any, values: Any, *, add: bool) -> Any:
    """What NumPy makes of a write; its own add.at goes wrong with broadcast values."""
    while values.ndim > places.ndim and values.shape[0] == 1:
        values = values[0]
    flat = array.copy().reshape(-1)
    values = np.broadcast_to(values, places.shape)
    if add:
        np.add.at(flat, places.reshape(-1), np.ascontiguousarray(values).reshape(-1))
    else:
        flat[places.reshape(-1)] = values.reshape(-1)
    return flat.reshape(array.shape)


def _outcome(action: Any) -> Any:
    try:
        return action()
    except (LumusError, IndexError, ValueError) as error:
        return error


def _empty_and_out_of_range(index: Any, outcomes: tuple[Any, Any]) -> bool:
    """Indices that select nothing: NumPy looks at some of their values, lumus at none."""
    items = index if isinstance(index, tuple) else (index,)
    shapes = [
        (int(item.sum()),) if item.dtype == np.bool_ else item.shape
        for item in items
        if isinstance(item, np.ndarray)
    ]
    texts = " ".join(str(one) for one in outcomes if isinstance(one, Exception))
    return "broadcast" not in texts and any(0 in shape for shape in shapes)


@pytest.mark.parametrize("seed", range(8))
def test_random_indices_read_and_write_what_numpy_does(seed: int) -> None:
    draw = Draw(seed)
    for _ in range(250):
        array = draw.view(draw.array(draw.shape(), dtype := draw.one_of(DTYPES)))
        index = draw.index(array)
        spelled = draw.spelled(index)
        told = f"{array.dtype} {array.shape} {array.strides} [{index!r}]"
        wanted = _outcome(lambda array=array, index=index: array[index])
        tensor = lm.from_numpy(array)
        got = _outcome(lambda tensor=tensor, spelled=spelled: tensor[spelled])
        if isinstance(wanted, Exception) or isinstance(got, Exception):
            if not _empty_and_out_of_range(index, (wanted, got)):
                assert isinstance(got, LumusError), told
                assert isinstance(wanted, IndexError), told
            continue
        assert np.asarray(got).dtype == wanted.dtype, told
        np.testing.assert_array_equal(np.asarray(got), wanted, err_msg=told)

        places = np.asarray(_places(array, index))
        values = draw.values(places.shape, dtype)
        for way in ("set", "at.set", "at.add"):
            if way == "at.add" and dtype is np.bool_:
                continue
            after = _outcome(
                lambda a=array, p=places, v=values, w=way: _written(a, p, v, add=w == "at.add")
            )
            copy = lm.from_numpy(array.copy(order="K"))
            done = _outcome(lambda c=copy, s=spelled, v=values, w=way: _write(c, s, v, w))
            if isinstance(after, Exception) or isinstance(done, Exception):
                assert isinstance(after, ValueError), f"{told} {way} {values.shape}: {done}"
                assert isinstance(done, LumusError), f"{told} {way} {values.shape}: {after}"
                np.testing.assert_array_equal(np.asarray(copy), array, err_msg=told)
                continue
            np.testing.assert_array_equal(np.asarray(done), after, err_msg=f"{told} {way}")
            if way != "set":
                np.testing.assert_array_equal(np.asarray(copy), array, err_msg=f"{told} {way}")


def _write(tensor: Any, index: Any, values: Any, way: str) -> Any:
    if way == "set":
        tensor[index] = lm.tensor(values)
        return tensor
    at = tensor.at[index]
    return at.set(lm.tensor(values)) if way == "at.set" else at.add(lm.tensor(values))
