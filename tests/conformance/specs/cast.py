"""Conversions of dtype, element by element in Python numbers."""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

import lumus as lm
from lumus.core.dtypes import ALL, INT_RANGE, DType
from lumus.testing.op_spec import Case, Edge, OpSpec, Source, elementwise_cases

# For each float dtype: bits of precision, the exponents of the smallest and of the largest number.
FORMATS = {"float64": (53, -1074, 1024), "float32": (24, -149, 128), "float16": (11, -24, 16),
           "bfloat16": (8, -133, 128)}  # fmt: skip
HALFWAY = np.array(
    [1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-11, 1 + 2.0**-8 + 2.0**-40, 65519.9, 65520.0, 2.0**-25,
     2.0**-25 * 1.01, 3.4e38, 1e-45, 1e300, 255.5, 128.0, -129.0, 2.0**31, -(2.0**63), 2.0**63]
)  # fmt: skip
LARGE_INTS = np.array(
    [2**63 - 1, -(2**63), 2**53 + 1, 2**24 + 1, 2**24 + 3, 257, 2049, 65519, 65520]
)


def nearest(value: float | int, dtype: DType) -> float:
    """The number of a float dtype that is nearest, ties to even."""
    if isinstance(value, float) and not math.isfinite(value):
        return value
    digits, smallest, largest = FORMATS[dtype.name]
    exact = Fraction(value)
    if not exact:
        return 0.0
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = Fraction(2) ** max(exponent - digits + 1, smallest)
    rounded = round(exact / unit) * unit  # Python rounds fractions half to even
    if abs(rounded) >= Fraction(2) ** largest:
        return math.copysign(math.inf, exact)
    return float(rounded)


def wrapped(value: int, dtype: DType) -> int:
    low, _ = INT_RANGE[dtype.name]
    return (value - low) % 2**dtype.bits + low


def to_int(value: Any, dtype: DType) -> int:
    if isinstance(value, int):
        return wrapped(value, dtype)
    low, high = INT_RANGE[dtype.name]
    if math.isnan(value):
        return 0
    return low if value <= low else high if value >= high else int(value)


def converted(dtype: DType) -> Any:
    def formula(x: Any) -> Any:
        values = [int(one) if isinstance(one, bool) else one for one in np.ravel(x).tolist()]
        if dtype.kind == "float":
            made = np.array([nearest(one, dtype) for one in values], np.float64)
        elif dtype.kind == "int":
            made = np.array([to_int(one, dtype) for one in values], dtype.name)
        else:
            made = np.array([one != 0 for one in values], bool)
        return made.reshape(np.shape(x))

    return formula


def cases(source: Source) -> Iterable[Case]:
    yield from elementwise_cases()(source)
    if source.dtype.kind == "float":
        yield Case("halfway", (HALFWAY,), smooth=False)
    elif source.dtype is lm.int64:
        yield Case("large ints", (LARGE_INTS,), smooth=False)


SPECS = [
    OpSpec(
        name=f"astype({target.name})",
        function=lambda x, target=target: x.astype(target),
        formula=converted(target),
        cases=cases,
        # The target itself last: converting to it is no op at all.
        dtypes=(*(dtype for dtype in ALL if dtype is not target), target),
        result=lambda dtype, target=target: target,
        tolerance=0,
        # Rounding is no smooth function; that the gradient passes is checked at an edge.
        differentiable=False,
        covers=("astype",),
        edges=(Edge("gradient passes", ([1.0, 3.0],), ([0.5, 0.25],), grad=[0.5, 0.25]),)
        if target.kind == "float"
        else (),
    )
    for target in ALL
]
