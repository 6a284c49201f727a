"""tensor: from Python numbers, nested sequences, NumPy arrays and other tensors; always a copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, cast, overload

import numpy as np

from lumus.core.broadcast import MAX_AXES
from lumus.core.construct import made_tensor
from lumus.core.device import Device, device_named
from lumus.core.dtypes import ALL, BY_NAME, INT_RANGE, DType, checked_dtype, public_name
from lumus.core.kinds import TITLE, Bool, Float, Int, K
from lumus.core.mode import MODE, eagerly
from lumus.core.spec import spec_of
from lumus.core.tensor import Tensor, leaf
from lumus.errors import ArgumentError, DTypeError, KindError, ShapeError
from lumus.ops.shape.stack import stack

Bools: TypeAlias = "bool | Sequence[Bools]"
Ints: TypeAlias = "int | Sequence[Ints]"
Floats: TypeAlias = "float | Sequence[Floats]"


@overload
def tensor(
    value: Bools,
    *,
    dtype: None = None,
    device: str | Device | None = None,
    requires_grad: Literal[False] = False,
) -> Tensor[Bool]: ...
@overload
def tensor(
    value: Ints,
    *,
    dtype: None = None,
    device: str | Device | None = None,
    requires_grad: Literal[False] = False,
) -> Tensor[Int]: ...
@overload
def tensor(
    value: Floats,
    *,
    dtype: None = None,
    device: str | Device | None = None,
    requires_grad: bool = False,
) -> Tensor[Float]: ...
@overload
def tensor(
    value: Tensor[K],
    *,
    dtype: None = None,
    device: str | Device | None = None,
    requires_grad: bool = False,
) -> Tensor[K]: ...
@overload
def tensor(
    value: Any,
    *,
    dtype: DType[Float],
    device: str | Device | None = None,
    requires_grad: bool = False,
) -> Tensor[Float]: ...
@overload
def tensor(
    value: Any,
    *,
    dtype: DType[K],
    device: str | Device | None = None,
    requires_grad: Literal[False] = False,
) -> Tensor[K]: ...
@overload
def tensor(
    value: Any,
    *,
    dtype: None = None,
    device: str | Device | None = None,
    requires_grad: bool = False,
) -> Tensor[Any]: ...
def tensor(
    value: Any,
    *,
    dtype: DType[Any] | None = None,
    device: str | Device | None = None,
    requires_grad: bool = False,
) -> Tensor[Any]:
    """A tensor with a copy of `value`: a number, nested sequences, a NumPy array, or a tensor.

    **Shapes.** That of the nesting, which must be regular.
    **Kinds.** By `dtype`; without it a NumPy array or tensor keeps its dtype, and Python numbers
    give bool, int64 or float32 (ints beside floats count as floats).
    **Gradient.** `requires_grad=True` makes it a leaf; a tensor given is copied off its graph.
    **Raises.** ShapeError for ragged nesting, DTypeError for a number that the dtype cannot hold or
    an array of another type, KindError for Float numbers and an Int dtype (use `astype`) or
    `requires_grad` on Int and Bool.

    >>> import lumus as lm
    >>> lm.tensor([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    place = device_named(device)
    if dtype is not None:
        checked_dtype(dtype, "tensor")
    if isinstance(value, Tensor):
        source = cast("Tensor[Any]", value).detach()
        made = source.copy() if device is None else source.to_device(place)
        made = made.copy() if made.data is source.data else made
        return leaf(made if dtype is None else _converted(made, dtype), requires_grad)
    if isinstance(value, list | tuple):
        first = _first_tensor(cast("list[Any]", value), 1)
        if first is not None:
            parts = [_beside(first, one, dtype, device) for one in cast("list[Any]", value)]
            return leaf(stack(parts), requires_grad)
    array = _as_array(value, dtype)
    if MODE.get().tracer is None:
        made = copied(array, place)
        return leaf(made if dtype is None else _converted(made, dtype), requires_grad)
    with eagerly():  # the values are there, also while a function is traced
        made = copied(array, place)
        made = made if dtype is None else _converted(made, dtype)
    return leaf(made_tensor(made.data, made.spec), requires_grad)


def _first_tensor(values: Sequence[Any], depth: int) -> Tensor[Any] | None:
    """The first tensor in nested sequences; raises ShapeError for more of them than axes."""
    if depth > MAX_AXES:
        raise ShapeError(f"tensor: sequences are nested deeper than {MAX_AXES} axes", op="tensor")
    for one in values:
        if isinstance(one, Tensor):
            return cast("Tensor[Any]", one)
        if isinstance(one, list | tuple):
            found = _first_tensor(cast("list[Any]", one), depth + 1)
            if found is not None:
                return found
    return None


def _beside(
    like: Tensor[Any], value: Any, dtype: DType[Any] | None, device: str | Device | None
) -> Tensor[Any]:
    """An element of a sequence that holds tensors: numbers in it are weak, as in arithmetic."""
    holds_tensors = isinstance(value, Tensor) or (
        isinstance(value, list | tuple) and _first_tensor(cast("list[Any]", value), 1) is not None
    )
    if dtype is None and not holds_tensors and not isinstance(value, np.ndarray):
        dtype = like.dtype
    return tensor(value, dtype=dtype, device=device)


def _as_array(value: Any, dtype: DType[Any] | None) -> Any:
    """A NumPy array of a dtype that lumus has."""
    if isinstance(value, np.ndarray | np.generic):
        check_unmasked("tensor", value)
        return np.asarray(value)
    if not isinstance(value, bool | int | float | list | tuple | range):
        if not hasattr(value, "__array__"):
            raise ArgumentError(
                f"tensor: cannot make a tensor of {type(value).__name__}",
                hint="give numbers, nested lists, a NumPy array or a tensor",
                op="tensor",
            )
        return np.asarray(value)
    try:
        array = np.asarray(value)
    except ValueError:
        raise ShapeError(
            f"tensor: the nested sequences are ragged: {_raggedness(value)}",
            hint="give rows of equal length",
            op="tensor",
        ) from None
    if array.dtype.kind not in "biuf" or array.dtype == np.uint64:
        array = _from_objects(array, value, dtype)
    if array.size == 0 and not isinstance(value, bool | int | float):
        array = array.astype(np.float32)
        if dtype is None or dtype.kind == "float":
            return array
        return array.astype(dtype.numpy_name)
    if array.dtype == np.float64:
        if dtype is not None:
            return array  # rounded once, to that dtype
        with np.errstate(over="ignore"):
            return array.astype(np.float32)
    if array.dtype.kind == "i":
        array = array.astype(np.int64)
        if dtype is not None and dtype.kind == "float":
            # Straight to the dtype asked for: float64 from int64 keeps what float32 would lose.
            array = array.astype(np.float64)
    return array


def _raggedness(value: Any) -> str:
    """The first place where neighbours differ in length, in words."""
    pending = [value]
    for rows in pending:
        if not isinstance(rows, list | tuple):
            continue
        lengths = [len(one) if isinstance(one, list | tuple | range) else None for one in rows]
        for place, length in enumerate(lengths):
            if length != lengths[0]:
                first, other = (
                    "is a number" if one is None else f"has length {one}"
                    for one in (lengths[0], length)
                )
                return f"row 0 {first}, row {place} {other}"
        pending.extend(rows)
    return "neighbours differ in shape"


def _from_objects(array: Any, value: Any, dtype: DType[Any] | None) -> Any:
    """Ints beyond int64 as floats, beside floats or for a Float dtype; others raise DTypeError."""
    values = array.ravel().tolist()
    numbers = array.dtype.kind in "uO" and all(
        isinstance(one, bool | int | float) for one in values
    )
    floats = any(isinstance(one, float) for one in values)
    if numbers and (floats or (dtype is not None and dtype.kind == "float")):
        try:
            return array.astype(np.float64)
        except OverflowError:
            raise DTypeError("tensor: an int is beyond every float", op="tensor") from None
    raise _no_element(value)


def _no_element(value: Any) -> DTypeError:
    """The error for the first value that cannot be an element."""
    pending = [value]
    for one in pending:
        if isinstance(one, list | tuple):
            pending.extend(one)
        elif isinstance(one, int) and not -(2**63) <= one < 2**63:
            return DTypeError(
                f"tensor: {one} does not fit into int64",
                hint="give a float for a number beyond 2**63",
                op="tensor",
            )
        elif not isinstance(one, int | float | range | np.generic):
            return DTypeError(
                f"tensor: {one!r} ({type(one).__name__}) cannot be an element",
                hint="elements are bool, int and float",
                op="tensor",
            )
    return DTypeError("tensor: there is an element that is no number", op="tensor")


def _converted(made: Tensor[Any], dtype: DType[Any]) -> Tensor[Any]:
    if made.dtype.kind == dtype.kind == "int" and made.size:
        low, high = INT_RANGE[dtype.name]
        least, most = made.min().item(), made.max().item()
        if least < low or most > high:
            raise DTypeError(
                f"tensor: values from {least} to {most} do not fit into {dtype.name}, which "
                f"holds {low} to {high}",
                hint="give a dtype that can hold them, or wrap them on purpose: "
                f"lumus.tensor(...).astype({public_name(dtype)})",
                op="tensor",
            )
    order = {"bool": 0, "int": 1, "float": 2}
    if order[made.dtype.kind] > order[dtype.kind]:
        raise KindError(
            f"tensor: {TITLE[made.dtype.kind]} values for the {TITLE[dtype.kind]} dtype "
            f"{dtype.name}",
            hint=f"convert on purpose: lumus.tensor(...).astype({public_name(dtype)})",
            op="tensor",
        )
    return made.astype(dtype)


def check_unmasked(op: str, array: Any) -> None:
    """Raises ArgumentError for a masked array, whose mask would be lost."""
    if hasattr(array, "mask"):
        raise ArgumentError(
            f"{op}: a masked array has elements that do not count, which a tensor cannot have",
            hint="give them a value: array.filled(...)",
            op=op,
        )


def dtype_of_array(array: Any, op: str) -> DType[Any]:
    """The lumus dtype of a NumPy array; raises DTypeError when there is none."""
    name = array.dtype.name
    found = BY_NAME.get(name)
    if found is None or (name == "bfloat16"):
        raise DTypeError(
            f"{op}: no dtype for NumPy's {array.dtype}",
            hint=f"convert the array first; there are {', '.join(map(public_name, ALL))}",
            op=op,
        )
    return found


def copied(array: Any, device: Device) -> Tensor[Any]:
    """A tensor with a copy of a NumPy array, whatever its layout and byte order."""
    dtype = dtype_of_array(array, "tensor")
    spec = spec_of(array.shape, dtype, device)
    made: Tensor[Any] = made_tensor(device.copy_in(array, spec), spec)
    return made
