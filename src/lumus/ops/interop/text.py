"""repr: a tensor as NumPy shows it, with its kind, dtype and place on the graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from lumus.core.composite import composite
from lumus.core.dispatch import apply
from lumus.core.dtypes import bfloat16, float32
from lumus.core.kinds import TITLE
from lumus.core.tensor import Tensor


@composite("repr")
def text_of(x: Tensor[Any]) -> str:
    """The text of ``repr(x)``."""
    head = f"Tensor[{TITLE[x.dtype.kind]}]("
    tail = f", dtype={x.dtype.name}"
    if x.device.name != "cpu":
        tail += f", device={x.device.name}"
    if x.requires_grad:
        tail += ", requires_grad=True" if x.is_leaf else f", op={x.node.op}"  # type: ignore[union-attr]
    if x.size == 0:
        return f"{head}[], shape={x.shape}{tail})"
    shown = x.detach()
    if x.dtype is bfloat16:
        shown = apply("astype", shown, dtype=float32)
    array = shown.device.copy_out(shown.data, shown.spec)
    body = np.array2string(array, separator=", ", prefix=head)
    return f"{head}{body}{tail})"
