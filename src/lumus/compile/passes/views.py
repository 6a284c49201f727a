"""Which kernels give views: results that are the same memory, seen otherwise.

A reshape whose strides do not allow it is a copy; what holds for views is safe for it, too.
"""

from __future__ import annotations

from lumus.core.kernels import BroadcastTo, Permute, Reshape, Slice
from lumus.core.kernels_shape import Pieces, Windows
from lumus.trace.program import Equation, Program, Var

VIEWS = (BroadcastTo, Permute, Reshape, Slice, Pieces, Windows)


def is_view(equation: Equation) -> bool:
    """Whether its outputs may be the memory of its input."""
    return isinstance(equation.kernel, VIEWS)


def escaping(program: Program) -> set[Var]:
    """The values whose memory a returned tensor may share.

    A caller may write to what it was given, so two of them must not become one value, nor may one
    become memory that lives on after the call.
    """
    found = set(program.outputs)
    for one in reversed(program.equations):
        if is_view(one) and not found.isdisjoint(one.outputs):
            found.update(one.inputs)
    return found


def dense_values(program: Program) -> set[Var]:
    """The values that are known to lie in row-major order without gaps.

    Sums and products may round otherwise over another layout, so a pass must not change that of
    what they read. Every kernel's results are dense, but for views.
    """
    found = {one.var for one in program.captures if getattr(one.data, "is_contiguous", False)}
    for one in program.equations:
        if not is_view(one) or (isinstance(one.kernel, Reshape) and one.inputs[0] in found):
            found.update(one.outputs)
    return found


def owned_values(program: Program) -> set[Var]:
    """The values in memory that the program itself allocates: what it computes, and views of it."""
    found: set[Var] = set()
    for one in program.equations:
        if not is_view(one) or one.inputs[0] in found:
            found.update(one.outputs)
    return found
