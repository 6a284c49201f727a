"""The three kinds of tensor, which are part of its type.

``Tensor[Float]``, ``Tensor[Int]``, ``Tensor[Bool]``.
"""

from __future__ import annotations

from typing import Literal, TypeVar

KindName = Literal["float", "int", "bool"]


class Kind:
    """Base of the kinds. A kind is only a type argument; it has no instances."""

    label: KindName

    def __init__(self) -> None:
        raise TypeError("a kind is a type argument, as in Tensor[Float]; it has no instances")


class Float(Kind):
    """Real numbers, differentiable: float64, float32, float16, bfloat16."""

    label = "float"


class Int(Kind):
    """Integers, for counts, indices and classes: int64, int32, int16, int8, uint8."""

    label = "int"


class Bool(Kind):
    """Truth values, for masks: bool."""

    label = "bool"


K = TypeVar("K", bound=Kind)
K_co = TypeVar("K_co", bound=Kind, covariant=True)

TITLE: dict[KindName, str] = {"float": "Float", "int": "Int", "bool": "Bool"}
A_TENSOR: dict[KindName, str] = {
    "float": "a Float tensor",
    "int": "an Int tensor",
    "bool": "a Bool tensor",
}
