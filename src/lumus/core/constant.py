"""Python numbers as operands.

Each becomes a frozen 0-d tensor of the other operand's dtype, cached.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from lumus.core.construct import new_tensor
from lumus.core.device import Device
from lumus.core.dtypes import INT_RANGE, DType
from lumus.core.kinds import TITLE
from lumus.core.op import OPS, ElementwiseOp
from lumus.core.spec import spec_of
from lumus.errors import DTypeError, KindError

if TYPE_CHECKING:
    from lumus.core.tensor import Tensor

Number = bool | int | float

MAX_CONSTANTS = 4096
_constants: dict[Any, Any] = {}
FLOATS: dict[tuple[float, DType[Any], Device], Tensor[Any]] = {}
"""The constants of floats that are not zero, for who meets them often; filled by `constant`."""


def constant(value: Number, dtype: DType[Any], device: Device, op: str) -> Tensor[Any]:
    """`value` as a frozen 0-d tensor.

    Raises when the kind or the range of `dtype` does not admit it.
    """
    # 1, 1.0 and True are equal and so are 0.0 and -0.0; they are not the same constant.
    key: tuple[Any, ...] = (value, value.__class__, dtype, device)
    if value == 0.0 and value.__class__ is float:
        key = (math.copysign(1.0, value), "zero", dtype, device)
    found = _constants.get(key)
    if found is None:
        check_number(value, dtype, op)
        spec = spec_of((), dtype, device)
        found = new_tensor(device.full(spec, value), spec)
        found.data.freeze()
        if len(_constants) >= MAX_CONSTANTS:
            _constants.clear()
            FLOATS.clear()
        _constants[key] = found
        if value and value.__class__ is float:
            FLOATS[value, dtype, device] = found
    result: Tensor[Any] = found
    return result


def check_number(value: Number, dtype: DType[Any], op: str, range_hint: str | None = None) -> None:
    """Raises KindError or DTypeError when a tensor of `dtype` cannot take this number."""
    if isinstance(value, bool):
        fits, kind = dtype.kind == "bool", "Bool"
    elif isinstance(value, int):
        fits, kind = dtype.kind != "bool", "Int"
    else:
        fits, kind = dtype.kind == "float", "Float"
    if not fits:
        known = OPS.get(op)
        if isinstance(known, ElementwiseOp):
            known.check_kind(dtype)  # an op that the tensor's kind lacks says what to use instead
        hint = "convert the tensor with .astype(lumus.float32)"
        if kind != "Float":
            hint = f"write {_same_number(value, dtype)!r}, or convert the tensor with .astype(...)"
        raise KindError(
            f"{op}: the tensor is of kind {TITLE[dtype.kind]} ({dtype.name}), "
            f"the number {value!r} of kind {kind}",
            hint=hint,
            op=op,
        )
    if dtype.kind == "float" and isinstance(value, int):
        try:
            float(value)
        except OverflowError:
            raise DTypeError(
                f"{op}: an int of {value.bit_length()} bits is beyond every float", op=op
            ) from None
    if dtype.kind == "int":
        low, high = INT_RANGE[dtype.name]
        if not low <= value <= high:
            raise DTypeError(
                f"{op}: {value} does not fit into {dtype.name}, which holds {low} to {high}",
                hint=range_hint or "convert the tensor to a wider dtype with .astype(lumus.int64)",
                op=op,
            )


def _same_number(value: Number, dtype: DType[Any]) -> Number:
    return {"float": float, "int": int, "bool": bool}[dtype.kind](value)
