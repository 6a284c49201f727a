"""The dtypes, their numbers in native code, and how two of a kind promote."""

from __future__ import annotations

from typing import Any, Generic

from lumus.core.kinds import TITLE, Bool, Float, Int, K_co, KindName
from lumus.errors import DTypeError, KindError


class DType(Generic[K_co]):
    """An element type. There is one object of each, so ``is`` compares them.

    ``code`` is its number in native code, ``numpy_name`` the NumPy dtype of the same layout
    (bfloat16 has none and travels as uint16).
    """

    __slots__ = ("bits", "code", "itemsize", "kind", "name", "numpy_name")

    def __init__(self, name: str, code: int, kind: KindName, itemsize: int) -> None:
        self.name = name
        self.code = code
        self.kind: KindName = kind
        self.itemsize = itemsize
        self.bits = 8 * itemsize
        self.numpy_name = "uint16" if name == "bfloat16" else name

    def __repr__(self) -> str:
        return f"lumus.{self.name}"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> str | tuple[Any, ...]:
        return (dtype_named, (self.name,))


float64: DType[Float] = DType("float64", 0, "float", 8)
float32: DType[Float] = DType("float32", 1, "float", 4)
float16: DType[Float] = DType("float16", 2, "float", 2)
bfloat16: DType[Float] = DType("bfloat16", 3, "float", 2)
int64: DType[Int] = DType("int64", 4, "int", 8)
int32: DType[Int] = DType("int32", 5, "int", 4)
int16: DType[Int] = DType("int16", 6, "int", 2)
int8: DType[Int] = DType("int8", 7, "int", 1)
uint8: DType[Int] = DType("uint8", 8, "int", 1)
bool_: DType[Bool] = DType("bool", 9, "bool", 1)

ALL: tuple[DType[Any], ...] = (
    float64, float32, float16, bfloat16, int64, int32, int16, int8, uint8, bool_,
)  # fmt: skip
BY_NAME: dict[str, DType[Any]] = {dtype.name: dtype for dtype in ALL}
DEFAULT: dict[KindName, DType[Any]] = {"float": float32, "int": int64, "bool": bool_}
INT_RANGE: dict[str, tuple[int, int]] = {
    "int64": (-(2**63), 2**63 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int8": (-128, 127),
    "uint8": (0, 255),
}
LARGEST: dict[str, float] = {
    "float64": 1.7976931348623157e308,
    "float32": 3.4028234663852886e38,
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
}


def dtype_named(name: str) -> DType[Any]:
    """The dtype of that name; raises DTypeError for a name that lumus has no dtype for."""
    dtype = BY_NAME.get(name)
    if dtype is None:
        raise DTypeError(
            f"no dtype named {name!r}", hint=f"lumus has {', '.join(BY_NAME)}", dtype=name
        )
    return dtype


def checked_dtype(value: Any, op: str) -> DType[Any]:
    """`value` if it is a dtype; raises DTypeError, naming the one that may be meant, if not."""
    if isinstance(value, DType):
        return value
    name = value if isinstance(value, str) else getattr(value, "__name__", str(value))
    name = {"float": "float32", "int": "int64", "bool_": "bool"}.get(name, name)
    meant = [public_name(dtype) for dtype in ALL if dtype.name == name]
    listed = ", ".join(map(public_name, ALL))
    raise DTypeError(
        f"{op}: dtype must be one of lumus's own, got {value!r}",
        hint=f"use {meant[0]}" if meant else f"there are {listed}",
        op=op,
    )


def public_name(dtype: DType[Any]) -> str:
    """How a program names the dtype."""
    return f"lumus.{'bool_' if dtype is bool_ else dtype.name}"


def is_half(dtype: DType[Any]) -> bool:
    """True for float16 and bfloat16, whose arithmetic runs in float32."""
    return dtype.kind == "float" and dtype.itemsize == 2


def promote(x: DType[Any], y: DType[Any], op: str) -> DType[Any]:
    """The dtype that both convert to, by the array API's table within a kind.

    float16 with bfloat16 gives float32; uint8 with a signed type gives the next wider signed type.
    Kinds never mix: that is a KindError.
    """
    if x is y:
        return x
    if x.kind != y.kind:
        raise KindError(
            f"{op}: operands are of kinds {TITLE[x.kind]} ({x.name}) and {TITLE[y.kind]} "
            f"({y.name})",
            hint=f"convert one, for example with .astype(lumus.{_cast_target(x, y).name})",
            op=op,
        )
    if x.kind == "float":
        if x.itemsize == y.itemsize:
            return float32
        return x if x.itemsize > y.itemsize else y
    if uint8 in (x, y):
        signed = y if x is uint8 else x
        return int16 if signed.itemsize == 1 else signed
    return x if x.itemsize > y.itemsize else y


def _cast_target(x: DType[Any], y: DType[Any]) -> DType[Any]:
    order = {"bool": 0, "int": 1, "float": 2}
    return x if order[x.kind] >= order[y.kind] else y
