"""What the rules of kernels share: checks of operands, raised as assertions."""

from __future__ import annotations

from lumus.core.broadcast import Shape
from lumus.core.dtypes import float32, float64, is_half
from lumus.core.spec import Spec

Specs = tuple[Spec, ...]


def check(holds: object, what: str) -> None:
    """Raises AssertionError, also where assertions are switched off, unless it holds."""
    if not holds:
        raise AssertionError(what)


def check_axis(axis: int, ndim: int) -> None:
    """That there is such an axis, counted from the front."""
    check(0 <= axis < ndim, f"axis {axis} of {ndim}")


def check_kind(spec: Spec, *kinds: str) -> None:
    """That a value is of one of these kinds."""
    check(spec.dtype.kind in kinds, f"{spec!r} is not of kind {' or '.join(kinds)}")


def check_precise(*specs: Spec) -> None:
    """That all are float32, or all are float64."""
    check(specs[0].dtype in (float32, float64), f"{specs[0]!r} is neither float32 nor float64")
    check_alike(*specs)


def check_floats(*specs: Spec) -> None:
    """That all are of one Float dtype."""
    check_kind(specs[0], "float")
    check_alike(*specs)


def check_alike(*specs: Spec) -> None:
    """That all are of one dtype."""
    for spec in specs[1:]:
        check(spec.dtype is specs[0].dtype, f"{specs[0]!r} with {spec!r}")


def check_equal(got: object, wanted: object) -> None:
    """That something is what it must be."""
    check(got == wanted, f"{got}, not {wanted}")


def widened(spec: Spec) -> Spec:
    """The spec of what is kept in float32 of half types."""
    return spec.with_dtype(float32) if is_half(spec.dtype) else spec


def without(shape: Shape, axis: int) -> Shape:
    """A shape without one of its axes."""
    return (*shape[:axis], *shape[axis + 1 :])


def replaced(shape: Shape, axis: int, length: int) -> Shape:
    """A shape with another length along an axis."""
    return (*shape[:axis], length, *shape[axis + 1 :])


def meets_columns(result: Spec, other: Spec) -> bool:
    """Whether a value has one element, or one for each index of the last axis of a result."""
    missing = result.ndim - other.ndim
    return missing >= 0 and all(
        length == 1 or (axis == other.ndim - 1 and length == result.shape[-1])
        for axis, length in enumerate(other.shape)
    )
