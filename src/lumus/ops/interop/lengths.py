"""Lengths: numbers of steps that count, which may be known only when a compiled function runs."""

from __future__ import annotations

from lumus.core.kinds import Int
from lumus.core.mode import MODE
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError
from lumus.ops.interop.checked import checked


def checked_lengths(op: str, lengths: Tensor[Int], most: int, name: str) -> Tensor[Int]:
    """The lengths of the rows of a batch, when none is below 0 or above `most`."""
    if not MODE.get().has_values:
        told = f"{op}: {name}: length {{}} is not in 0..{most}"
        return checked(lengths, (lengths >= 0) & (lengths <= most), ArgumentError, told)
    for row, length in enumerate(lengths.tolist()):
        if not 0 <= length <= most:
            raise ArgumentError(
                f"{op}: {name}: length {length} of row {row} is not in 0..{most}", op=op
            )
    return lengths
