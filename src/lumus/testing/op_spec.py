"""What an op must do, as data: an independent formula, inputs of every sort, gradients at kinks.

A spec is written once for an op; `lumus.testing.sweep` holds it against a device.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lumus.core.dtypes import DType, bfloat16, float16, float32, float64

Array: TypeAlias = NDArray[Any]

FLOATS: tuple[DType[Any], ...] = (float64, float32, float16, bfloat16)

# One unit in the last place for the halves, which are rounded once from float32.
TOLERANCE = {"float64": 1e-14, "float32": 1e-6, "float16": 1e-3, "bfloat16": 8e-3}
# The smallest number of the dtype: below it there is nothing to compare.
SMALLEST = {"float64": 5e-324, "float32": 2.0**-149, "float16": 2.0**-24, "bfloat16": 2.0**-133}

INFINITE = (0.0, -0.0, math.inf, -math.inf, math.nan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """Where the elements of an operand are drawn from: evenly from [low, high].

    `avoid` are points at which the function has a kink or a jump: elements keep `margin` away from
    them. `specials` are single values that are tried besides, in the forward pass alone.
    """

    low: float = -3.0
    high: float = 3.0
    avoid: tuple[float, ...] = ()
    margin: float = 0.05
    specials: tuple[float, ...] = INFINITE


@dataclass(frozen=True, slots=True)
class Source:
    """Draws inputs for one dtype, the same for the same seed."""

    dtype: DType[Any]
    random: np.random.Generator

    def draw(self, shape: tuple[int, ...], domain: Domain | None = None) -> Array:
        """Elements of the domain: float64, int64 or bool by the kind of the dtype."""
        where = domain or Domain()
        if self.dtype.kind == "bool":
            return np.asarray(self.random.random(shape) < 0.5)
        if self.dtype.kind == "int":
            low = math.ceil(where.low)
            return self.random.integers(low, max(math.floor(where.high), low) + 1, shape)
        drawn = np.asarray(self.random.uniform(where.low, where.high, shape))
        for point in where.avoid:
            near = np.abs(drawn - point) < where.margin
            drawn = np.where(near, point + np.where(drawn < point, -1, 1) * where.margin, drawn)
        return drawn

    def specials(self, domain: Domain) -> Array:
        """The single values to try: those of the domain, or the ends of the int dtype's range."""
        if self.dtype.kind == "float" or not domain.specials:
            return np.array(domain.specials, np.float64)
        if self.dtype.kind == "bool":
            return np.array([False, True])
        bounds = np.iinfo(self.dtype.name)
        return np.array([0, 1, -1, 2, -3, bounds.min, bounds.max], np.int64)

    def indices(self, shape: tuple[int, ...], bound: int) -> Array:
        """Indices of an axis of length `bound`, of either sign; some occur more than once."""
        return self.random.integers(-bound, max(bound, 1), shape) if bound else np.zeros(shape, int)

    def mask(self, shape: tuple[int, ...]) -> Array:
        """Truth values."""
        return np.asarray(self.random.random(shape) < 0.5)


@dataclass(frozen=True, slots=True)
class Case:
    """One call. `smooth` says that the function is differentiable there."""

    label: str
    inputs: tuple[Array, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    smooth: bool = True


@dataclass(frozen=True, slots=True)
class Edge:
    """Gradients at a point where the convention decides, or where formulas break down.

    `grad` is the incoming gradient (ones by default); `expected` has the gradient of each input,
    None for those that have none.
    """

    label: str
    inputs: tuple[Any, ...]
    expected: tuple[Any, ...]
    grad: Any = None
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])


Cases: TypeAlias = Callable[[Source], Iterable[Case]]


def same_dtype(dtype: DType[Any]) -> DType[Any]:
    """The result has the operands' dtype."""
    return dtype


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpSpec:
    """An op, what it must compute, and the inputs to try it on.

    `function` takes tensors (and a case's kwargs); `formula` takes NumPy arrays with the same
    elements, floats as float64 whatever the dtype, and must not share code with the op. Inputs
    whose positions are in `fixed` (indices, masks) keep their dtype, the others are converted to
    each of `dtypes`. `tolerance` counts multiples of `TOLERANCE`; 0 wants the formula's result
    rounded, to the bit. With `absolute` errors are measured beside 1 for results that are
    smaller. `covers` names the registered ops that it stands for besides its own name.

    >>> import numpy as np
    >>> import lumus as lm
    >>> from lumus.testing.op_spec import OpSpec, elementwise_cases
    >>> from lumus.testing.sweep import check_forward
    >>> spec = OpSpec(name="exp", function=lm.exp, formula=np.exp, cases=elementwise_cases())
    >>> check_forward(spec, lm.float32)
    """

    name: str
    function: Callable[..., Any]
    formula: Callable[..., Any]
    cases: Cases
    dtypes: tuple[DType[Any], ...] = FLOATS
    result: Callable[[DType[Any]], DType[Any]] = same_dtype
    fixed: tuple[int, ...] = ()
    tolerance: float = 1.0
    absolute: bool = False
    differentiable: bool = True
    covers: tuple[str, ...] = ()
    edges: tuple[Edge, ...] = ()

    def __str__(self) -> str:
        return self.name


# ------------------------------------------------------------------------------- standard inputs


def joined(*parts: Cases) -> Cases:
    """The cases of all parts."""
    return lambda source: itertools.chain.from_iterable(part(source) for part in parts)


def rough(cases: Cases) -> Cases:
    """The same cases, for the forward pass alone: not differentiable everywhere."""
    return lambda source: (replace(case, smooth=False) for case in cases(source))


_SHAPES: tuple[tuple[int, ...], ...] = ((), (1,), (0,), (2, 0, 3), (2, 3, 4), (67,))
_NARROWER: tuple[tuple[int, ...], ...] = ((), (3, 1), (4,), (1, 3, 4), (2, 1, 1))


def elementwise_cases(*domains: Domain, kwargs: Mapping[str, Any] | None = None) -> Cases:
    """Inputs for a function of as many operands as there are domains (one by default).

    Equal shapes (0-d, one element, none, several axes, longer than a vector register), each
    operand broadcast against the others, operands that repeat memory, and all special values with
    each other.
    """
    operands = domains or (Domain(),)
    given = dict(kwargs or {})

    def cases(source: Source) -> Iterable[Case]:
        for shape in _SHAPES:
            inputs = tuple(source.draw(shape, domain) for domain in operands)
            yield Case(f"all of shape {shape}", inputs, given)
        repeated = [np.broadcast_to(source.draw((1, 4), domain), (3, 4)) for domain in operands]
        yield Case("stride 0", tuple(repeated), given)
        if len(operands) > 1:
            yield from _broadcast_cases(source, operands, given)
        specials = [source.specials(domain) for domain in operands]
        if all(len(one) for one in specials):
            grid = np.meshgrid(*specials, indexing="ij")
            yield Case("special values", tuple(one.ravel() for one in grid), given, smooth=False)

    return cases


def _broadcast_cases(
    source: Source, operands: tuple[Domain, ...], kwargs: dict[str, Any]
) -> Iterable[Case]:
    for shift, narrow in enumerate(_NARROWER):
        full = shift % len(operands)
        shapes = [(2, 3, 4) if place == full else narrow for place in range(len(operands))]
        inputs = tuple(map(source.draw, shapes, operands))
        yield Case(f"shapes {shapes}", inputs, kwargs)
    shapes = [(3, 1) if place % 2 else (1, 4) for place in range(len(operands))]
    yield Case("outer", tuple(map(source.draw, shapes, operands)), kwargs)
    shapes = [(1,) if place else (0,) for place in range(len(operands))]
    yield Case("1 against 0", tuple(map(source.draw, shapes, operands)), kwargs)


_REDUCED: tuple[tuple[tuple[int, ...], Any], ...] = (
    ((), None),
    ((), ()),
    ((1,), 0),
    ((5,), None),
    ((2, 3, 4), None),
    ((2, 3, 4), 0),
    ((2, 3, 4), 1),
    ((2, 3, 4), -1),
    ((2, 3, 4), (0, 2)),
    ((2, 3, 4), (-2,)),
    ((2, 3, 4), ()),
    ((3, 67), 1),
    ((67, 3), 0),
    ((2, 0, 3), 0),
)
_REDUCED_TO_NOTHING: tuple[tuple[tuple[int, ...], Any], ...] = (
    ((0,), None),
    ((2, 0, 3), 1),
    ((0, 3), (0, 1)),
)


def reduction_cases(
    domain: Domain | None = None, *, of_nothing: bool = True, several_axes: bool = True
) -> Cases:
    """Inputs for a reduction with `axis` and `keepdims`; `of_nothing` if nothing has a value."""
    where = domain or Domain()

    def cases(source: Source) -> Iterable[Case]:
        listed = (*_REDUCED, *_REDUCED_TO_NOTHING) if of_nothing else _REDUCED
        for number, (shape, axis) in enumerate(listed):
            if isinstance(axis, tuple) and not several_axes:
                continue
            kwargs = {"axis": axis, "keepdims": number % 2 == 1}
            yield Case(f"shape {shape}, {kwargs}", (source.draw(shape, where),), kwargs)
        repeated = np.broadcast_to(source.draw((3, 1), where), (3, 4))
        # Equal elements: the extremes of such rows are ties.
        yield Case("stride 0", (repeated,), {"axis": 1, "keepdims": False}, smooth=False)
        if source.dtype.kind == "float" and where.specials:
            rows = np.tile(source.draw((1, 4), where), (len(where.specials), 1))
            rows[:, 2] = where.specials
            kwargs = {"axis": 1, "keepdims": False}
            yield Case("special values", (rows,), kwargs, smooth=False)

    return cases
