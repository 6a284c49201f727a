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
