"""The angles by which places are told apart: they grow with the place, each at its own rate."""

from __future__ import annotations

import math

from lumus.core.argument import finite
from lumus.core.device import Device
from lumus.core.dtypes import float64
from lumus.core.kinds import Float
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError
from lumus.ops.create.arange import arange


def angles_of_places(
    op: str, first_place: int, rows: int, width: int, base: float, device: Device
) -> Tensor[Float]:
    """``place / base**(2 * i / width)``, of shape (rows, width / 2), in float64."""
    number = finite(op, "base", base)
    if not number > 0:
        raise ArgumentError(f"{op}: base must be positive, got {number}")
    steps = arange(width // 2, dtype=float64, device=device)
    frequencies = (steps * (-2 * math.log(number) / max(width, 1))).exp()
    places = arange(first_place, first_place + rows, dtype=float64, device=device)
    return places.expand_dims(-1) * frequencies
