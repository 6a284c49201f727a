"""One expression of several elementwise equations, with the bits that each gives alone.

A value that used to be stored between two equations has a dtype: it is rounded to it, and what
reads it computes in the dtype that it would have computed in. Where the joined expression would
choose another one, casts hold it; a cast to the dtype that a value has costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from lumus.core.dtypes import INT_RANGE, DType, float32, is_half
from lumus.core.kernels.elementwise import Cast, Copy, Elementwise
from lumus.core.scalar.expressions import Expression, substitute
from lumus.core.scalar.functions import cast
from lumus.core.scalar.nodes import ZERO, Call, Constant, Input, Scalar, postorder
from lumus.core.scalar.program import Types
from lumus.core.scalar.simplifier import Simplifier
from lumus.core.site import Line, Site
from lumus.trace.program import Equation, Var

AnyDType = DType[Any]
_LARGEST_EXACT = 2**53  # numbers without a dtype are held in float64

SAME = Expression(("x",), (Input(0),))
_casts: dict[AnyDType, Expression] = {}


def expression_of(equation: Equation) -> Expression | None:
    """The expression that an equation computes for each element, if it is of that sort."""
    match equation.kernel:
        case Elementwise(expression):
            return expression
        case Copy():
            return SAME
        case Cast(dtype):
            return _casts.setdefault(dtype, Expression(("x",), (cast(Input(0), dtype),)))
        case _:
            return None


def sites_of(equations: Iterable[Equation]) -> tuple[Site | Line, ...]:
    """The lines that several equations come from, each once."""
    return tuple(dict.fromkeys([site for equation in equations for site in equation.sites]))


class Part(NamedTuple):
    """An expression of values that gives values."""

    expression: Expression
    inputs: tuple[Var, ...]
    outputs: tuple[Var, ...]


class _Prepared(NamedTuple):
    """An expression for given dtypes: what it computes of typed inputs alone."""

    outputs: tuple[Scalar, ...]  # of the dtypes of what they are stored in
    used: frozenset[int]  # inputs
    cost: int


class Joiner:
    """Joins expressions. What is alike becomes one object, since caches know expressions by it."""

    def __init__(self) -> None:
        self._prepared: dict[tuple[Any, ...], _Prepared | None] = {}
        self._joined: dict[tuple[Any, ...], Expression] = {}

    def prepared(self, part: Part) -> _Prepared | None:
        """None if the part cannot be joined."""
        key = (part.expression, _dtypes(part.inputs), _dtypes(part.outputs))
        if key not in self._prepared:
            self._prepared[key] = _prepare(*key)
        return self._prepared[key]

    def cost(self, part: Part) -> int | None:
        """Of an element, in simple instructions; None if the part cannot be joined."""
        prepared = self.prepared(part)
        return None if prepared is None else prepared.cost

    def used_inputs(self, part: Part) -> list[Var]:
        """The inputs that have an influence."""
        prepared = self.prepared(part)
        assert prepared is not None
        return [var for index, var in enumerate(part.inputs) if index in prepared.used]

    def join(
        self, parts: Sequence[Part], inputs: Sequence[Var], outputs: Sequence[Var]
    ) -> Expression:
        """`outputs` as functions of `inputs`, which are all that the parts use from outside."""
        places = {var: place for place, var in enumerate(inputs)}
        wiring: list[Any] = []
        for part in parts:
            wiring.append((part.expression, *[places.get(var) for var in part.inputs]))
            for var in part.outputs:
                places[var] = len(places)
        key = (
            *wiring,
            _dtypes(places),
            len(inputs),
            *[places[var] for var in outputs],
        )
        if key not in self._joined:
            self._joined[key] = self._join(parts, inputs, outputs)
        return self._joined[key]

    def _join(
        self, parts: Sequence[Part], inputs: Sequence[Var], outputs: Sequence[Var]
    ) -> Expression:
        common = Types((), _dtypes(inputs)).compute
        nodes: dict[Var, Scalar] = {var: Input(place) for place, var in enumerate(inputs)}
        # What a node is computed in where it is read; the inputs of a kind have that in common.
        dtypes = {var: common[var.spec.dtype.kind] for var in inputs}
        for part in parts:
            prepared = self.prepared(part)
            assert prepared is not None
            compute = Types((), _dtypes(part.inputs)).compute
            operands = [
                _held(nodes[var], dtypes[var], compute[var.spec.dtype.kind])
                if index in prepared.used
                else ZERO
                for index, var in enumerate(part.inputs)
            ]
            for var, node in zip(part.outputs, substitute(prepared.outputs, operands), strict=True):
                nodes[var] = node
                dtypes[var] = _wide(var.spec.dtype)
        simplify = Simplifier()
        names = tuple([f"x{place}" for place in range(len(inputs))])
        return Expression(names, tuple([simplify(nodes[var]) for var in outputs]))


def _dtypes(variables: Iterable[Var]) -> tuple[AnyDType, ...]:
    return tuple([var.spec.dtype for var in variables])


def _wide(dtype: AnyDType) -> AnyDType:
    return float32 if is_half(dtype) else dtype


def _held(node: Scalar, dtype: AnyDType, wanted: AnyDType) -> Scalar:
    return node if dtype is wanted else cast(node, wanted)


def _prepare(
    expression: Expression, inputs: tuple[AnyDType, ...], outputs: tuple[AnyDType, ...]
) -> _Prepared | None:
    # The same simplification as alone, before anything of another expression is in sight. The
    # zero of differentiation has done its work then: to what follows it is a number like others.
    simplify = Simplifier(powers_as_products=True)
    nodes = _with_plain_zero([simplify(output) for output in expression.outputs])
    types = Types(postorder(nodes), inputs)
    results: list[Scalar] = []
    for node, dtype in zip(nodes, outputs, strict=True):
        result = types.results[node]
        if result is not None:
            results.append(_held(node, result, dtype))
        elif isinstance(node, Constant) and _is_exact(node.value, dtype):
            results.append(_held(cast(node, _wide(dtype)), _wide(dtype), dtype))
        else:
            return None
    order = postorder(results)
    used = frozenset([node.index for node in order if isinstance(node, Input)])
    return _Prepared(tuple(results), used, sum(map(_cost, order)))


def _with_plain_zero(outputs: Sequence[Scalar]) -> list[Scalar]:
    plain: dict[Scalar, Scalar] = {}
    for node in postorder(outputs):
        if isinstance(node, Call):
            plain[node] = Call(node.function, tuple([plain[arg] for arg in node.args]), node.dtype)
        else:
            plain[node] = Constant(0) if node is ZERO else node
    return [plain[output] for output in outputs]


def _is_exact(value: float | int | bool, dtype: AnyDType) -> bool:
    """Whether a number that takes the way over float64 is the one that the dtype would hold."""
    if dtype.kind == "int":
        low, high = INT_RANGE[dtype.name]
        return isinstance(value, int) and low <= value <= high and abs(value) <= _LARGEST_EXACT
    return dtype.kind == "float"


# Against an addition, roughly, as in the native engine.
_COSTS = {"divide": 2, "reciprocal": 2, "sqrt": 3, "rsqrt": 4, "hypot": 6}
_CHEAP = {
    "absolute", "add", "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "cast", "ceil", "equal", "floor", "greater",
    "greater_equal", "isfinite", "isinf", "isnan", "less", "less_equal", "logical_and",
    "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative",
    "not_equal", "round", "select", "sign", "square", "subtract", "trunc",
}  # fmt: skip


def _cost(node: Scalar) -> int:
    if not isinstance(node, Call):
        return 0
    return 1 if node.function in _CHEAP else _COSTS.get(node.function, 16)
