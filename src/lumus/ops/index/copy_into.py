"""copy_: a tensor overwritten in place with other values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lumus.core.broadcast import broadcasts_to
from lumus.core.composite import composite
from lumus.core.dtypes import promote
from lumus.core.mode import MODE
from lumus.core.tensor import Tensor, require_operand
from lumus.core.write import apply_into, check_writable
from lumus.errors import ShapeError
from lumus.ops.create.tensor import tensor


@composite("copy_")
def copy_(x: Tensor[Any], value: Any, *, spelled: str) -> None:
    """Overwrites every element of `x`; see `Tensor.copy_`."""
    functional = "x.at[index].set(value)" if spelled == "setitem" else "a new tensor"
    check_writable(spelled, x, functional, MODE.get())
    if isinstance(value, Sequence):
        value = tensor(value, dtype=x.dtype, device=x.device)
    values = require_operand(x, value, spelled)
    promote(x.dtype, values.dtype, spelled)
    if not broadcasts_to(values.shape, x.shape):
        raise ShapeError(
            f"{spelled}: values of shape {values.shape} do not broadcast to the tensor's {x.shape}",
            op=spelled,
        )
    values = values.astype(x.dtype).broadcast_to(x.shape)
    apply_into("copy", x, values, functional=functional, spelled=spelled)
