"""Which kernels give views: results that are the same memory, seen otherwise.

A reshape whose strides do not allow it is a copy; what holds for views is safe for it, too.
"""

from __future__ import annotations

from typing import Any

from lumus.core.kernels.shape import Pieces, Reshape
from lumus.trace.program import Equation, Program, Var
from lumus.trace.value import VIEWS, layout_of, view_layouts


def is_view(equation: Equation) -> bool:
    """Whether its outputs may be the memory of its input."""
    return isinstance(equation.kernel, (*VIEWS, Pieces))


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


class Layouts:
    """The layouts that are known: of computed values, which are dense, and of views of them."""

    def __init__(self, program: Program) -> None:
        self._computed: set[Var] = set()
        self._known: dict[Var, Any] = {}
        for one in program.equations:
            if not is_view(one):
                self._computed.update(one.outputs)
            elif len(one.outputs) == 1:
                self._add_view(one)

    def _add_view(self, one: Equation) -> None:
        (source,), (var,) = one.inputs, one.outputs
        base = self.of(source)
        if base is not None:
            views = view_layouts(one.kernel, base)
            # A reshape that copies is dense.
            self._known[var] = layout_of(var.spec.shape) if views is None else views[0]

    def of(self, var: Var) -> Any:
        """An array without memory that has the layout of a value; None if that is not known."""
        known = self._known.get(var)
        if known is None and var in self._computed:
            known = self._known[var] = layout_of(var.spec.shape)
        return known

    def copies(self, reshape: Equation) -> bool:
        """Whether it is known that a reshape cannot be a view of its operand."""
        known = self.of(reshape.inputs[0])
        return known is not None and view_layouts(reshape.kernel, known) is None


def memory_of(program: Program) -> dict[Var, Var]:
    """For each view the value whose memory it shows; a reshape that must copy is no view."""
    layouts = Layouts(program)
    found: dict[Var, Var] = {}
    for one in program.equations:
        if is_view(one) and not (isinstance(one.kernel, Reshape) and layouts.copies(one)):
            (source,) = one.inputs
            found.update(dict.fromkeys(one.outputs, found.get(source, source)))
    return found
