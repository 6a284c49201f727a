"""The nodes of a scalar expression: inputs, constants and calls of the closed table of functions.

Nodes are immutable and compared by identity: an expression is a graph in which a shared node is
computed once, and any node can be a key of a cache at no cost.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

from lumus.core.dtypes import DType


class Scalar:
    """A node. Python's operators build calls; ``==`` does not (see `equal`): it is identity."""

    __slots__ = ()

    def __add__(self, other: Operand) -> Scalar:
        return call("add", self, other)

    def __radd__(self, other: Operand) -> Scalar:
        return call("add", other, self)

    def __sub__(self, other: Operand) -> Scalar:
        return call("subtract", self, other)

    def __rsub__(self, other: Operand) -> Scalar:
        return call("subtract", other, self)

    def __mul__(self, other: Operand) -> Scalar:
        return call("multiply", self, other)

    def __rmul__(self, other: Operand) -> Scalar:
        return call("multiply", other, self)

    def __truediv__(self, other: Operand) -> Scalar:
        return call("divide", self, other)

    def __rtruediv__(self, other: Operand) -> Scalar:
        return call("divide", other, self)

    def __floordiv__(self, other: Operand) -> Scalar:
        return call("floor_divide", self, other)

    def __rfloordiv__(self, other: Operand) -> Scalar:
        return call("floor_divide", other, self)

    def __mod__(self, other: Operand) -> Scalar:
        return call("remainder", self, other)

    def __rmod__(self, other: Operand) -> Scalar:
        return call("remainder", other, self)

    def __pow__(self, other: Operand) -> Scalar:
        return call("power", self, other)

    def __rpow__(self, other: Operand) -> Scalar:
        return call("power", other, self)

    def __neg__(self) -> Scalar:
        return call("negative", self)

    def __abs__(self) -> Scalar:
        return call("absolute", self)

    def __lt__(self, other: Operand) -> Scalar:
        return call("less", self, other)

    def __le__(self, other: Operand) -> Scalar:
        return call("less_equal", self, other)

    def __gt__(self, other: Operand) -> Scalar:
        return call("greater", self, other)

    def __ge__(self, other: Operand) -> Scalar:
        return call("greater_equal", self, other)

    def __and__(self, other: Operand) -> Scalar:
        return call("logical_and", self, other)

    def __rand__(self, other: Operand) -> Scalar:
        return call("logical_and", other, self)

    def __or__(self, other: Operand) -> Scalar:
        return call("logical_or", self, other)

    def __ror__(self, other: Operand) -> Scalar:
        return call("logical_or", other, self)

    def __xor__(self, other: Operand) -> Scalar:
        return call("logical_xor", self, other)

    def __rxor__(self, other: Operand) -> Scalar:
        return call("logical_xor", other, self)

    def __invert__(self) -> Scalar:
        return call("logical_not", self)

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        # Two nodes compare by identity (they are keys of caches); a number here is a mistake.
        if isinstance(other, (bool, int, float)):
            raise TypeError("== does not build a comparison of scalars: write equal(x, y)")
        return self is other

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a scalar of an expression has no truth value while it is being built: "
            "write where(condition, x, y) for `if`, and & | ~ for `and`, `or`, `not`"
        )


Operand: TypeAlias = Scalar | float | int | bool


@dataclass(frozen=True, slots=True, eq=False)
class Input(Scalar):
    """The element of input number `index`."""

    index: int


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Scalar):
    """A number. A bool is Bool; other numbers take the dtype of what they meet."""

    value: float | int | bool


# The zero and one that differentiation makes. Only this zero, by identity, takes part in
# ``x * 0 = 0``: a zero that a user writes keeps its meaning for an infinite or NaN x.
ZERO = Constant(0)
ONE = Constant(1)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Call(Scalar):
    """A function of the table applied to `args`; `dtype` is the target of a cast, else None."""

    function: str
    args: tuple[Scalar, ...]
    dtype: DType[Any] | None = None

    def __repr__(self) -> str:
        return f"Call({self.function!r}, {len(self.args)} args)"


def as_scalar(operand: Operand) -> Scalar:
    """The node of a number; a node is itself."""
    if isinstance(operand, Scalar):
        return operand
    if isinstance(operand, (bool, int, float)):
        return Constant(operand)
    raise TypeError(f"a scalar expression takes numbers and scalars, not {operand!r}")


def call(function: str, *operands: Operand) -> Scalar:
    """The call of a function of the table."""
    return Call(function, tuple([as_scalar(operand) for operand in operands]))


def postorder(roots: Iterable[Scalar], known: Container[Scalar] = ()) -> list[Scalar]:
    """Every node reachable from `roots` once, arguments before the calls that use them.

    Nodes that are `known` are left out, and so is what is reachable through them alone.
    """
    order: list[Scalar] = []
    seen: set[Scalar] = set()
    pending: list[tuple[Scalar, bool]] = [(root, False) for root in reversed(list(roots))]
    while pending:
        node, args_done = pending.pop()
        if args_done:
            order.append(node)
        elif node not in seen and node not in known:
            seen.add(node)
            pending.append((node, True))
            if isinstance(node, Call):
                pending.extend((arg, False) for arg in reversed(node.args))
    return order
