"""What a compiled function writes: versions of storages, and arguments that lie there."""

import numpy as np
import pytest

from lumus import _native
from tests.native.native_arrays import CODES

F32 = CODES[np.dtype(np.float32)]


def made(count: int = 1) -> list[_native.Array]:
    return [_native.empty(F32, (4,)) for _ in range(count)]


def half(array: _native.Array, at: int) -> _native.Array:
    return array.slice((2 * at,), (2,), (1,))


def test_writes_are_noted_on_their_storages() -> None:
    (kept, argument, other) = made(3)
    writes = _native.Writes([(half(kept, 1), "step", "here")], [(1, "copy_", None)])
    for count in range(1, 20):
        writes.note([other, argument])
        assert (kept.version, argument.version, other.version) == (count, count, 0)
    assert half(kept, 1).overwritten_since(18) == ("step", "here")
    assert half(kept, 1).overwritten_since(19) is None
    assert half(kept, 0).overwritten_since(0) is None
    assert argument.overwritten_since(0) == ("copy_", None)


def test_arguments_meet_what_is_written() -> None:
    (kept, x, y) = made(3)
    outside = _native.Writes([(half(kept, 0), "step", None)], [])
    assert not outside.meet([x, y])
    assert not outside.meet([x, x])
    assert outside.meet([x, kept])
    assert outside.meet([x, half(kept, 0)])
    assert not outside.meet([x, half(kept, 1)])
    written = _native.Writes([], [(0, "step", None)])
    assert not written.meet([x, y])
    assert not written.meet([x, y, y])
    assert written.meet([half(x, 0), x])
    assert not written.meet([half(x, 0), half(x, 1)])
    assert written.meet([x, y, x])
    beside = _native.Writes([], [(0, "step", None)], [half(kept, 0)])
    assert beside.meet([kept, x])
    assert not beside.meet([x, kept])
    assert not beside.meet([half(kept, 1), half(kept, 0)])


def test_arguments_must_be_there() -> None:
    writes = _native.Writes([], [(1, "step", None)])
    with pytest.raises(IndexError):
        writes.note(made(1))
    with pytest.raises(TypeError, match="native arrays"):
        writes.meet([1.0, 2.0])  # type: ignore[list-item]
