"""layout: transposes become flags of matrix products, and copies that views need are avoided.

Permutations, slices and broadcasts are windows on memory and cost nothing when a plan runs; matrix
products read both operands by their strides. So little is left to do here. A transposed second
operand becomes the product's flag, which other passes can see, and which a device without views
needs. A reshape that strides do not allow is a copy: where an elementwise equation alone reads it,
that equation can read by strides and be reshaped itself.

Not done, since sums would be added up in another order: ``(a @ b).T`` as ``b.T @ a.T``, and views
moved through reductions.
"""

from __future__ import annotations

from lumus.compile.passes.views import Layouts
from lumus.core import kernels as k
from lumus.trace.program import Equation, Program, Var


def layout(program: Program) -> Program:
    """Transposes into products, reshapes that copy behind the elementwise equation that reads them.

    Every result has the layout that it had.
    """
    state = _State(program)
    equations: list[Equation] = []
    for one in program.equations:
        if isinstance(one.kernel, k.MatMul):
            equations.append(state.with_flag(one, one.kernel))
        else:
            equations += state.reshaped_after(one)
    return program.with_equations(equations)


class _State:
    def __init__(self, program: Program) -> None:
        self.makers: dict[Var, Equation] = program.makers()
        self.uses = program.uses()
        self.layouts = Layouts(program)

    def with_flag(self, one: Equation, kernel: k.MatMul) -> Equation:
        """The product that reads its second operand as it was before it was transposed."""
        x, y, *bias = one.inputs
        made = self.makers.get(y)
        if made is None or not isinstance(made.kernel, k.Permute):
            return one
        rank = y.spec.ndim
        if rank < 2 or made.kernel.axes != (*range(rank - 2), rank - 1, rank - 2):
            return one
        flipped = k.MatMul(not kernel.transposed, kernel.bias)
        inputs = (x, *made.inputs, *bias)
        return Equation(one.op, None, flipped, inputs, one.outputs, (*made.sites, *one.sites))

    def reshaped_after(self, one: Equation) -> list[Equation]:
        """The equation, computed on what its operand was before a copying reshape; then that."""
        place = self._moved_operand(one)
        if place is None:
            return [one]
        reshape = self.makers[one.inputs[place]]
        (source,) = reshape.inputs
        (made,) = one.outputs
        before = Var(made.spec.with_shape(source.spec.shape))
        inputs = (*one.inputs[:place], source, *one.inputs[place + 1 :])
        computed = Equation(one.op, one.attrs, one.kernel, inputs, (before,), one.sites)
        # By now it is dense, and the reshape a view; what reads that may move in front of it, too.
        kernel = k.Reshape(made.spec.shape)
        moved = Equation("reshape", None, kernel, (before,), (made,), reshape.sites)
        self.makers[made] = moved
        self.makers[before] = computed
        return [computed, moved]

    def _moved_operand(self, one: Equation) -> int | None:
        """The operand that is a reshape that copies, if the equation alone reads it.

        Its other operands have one element, so that they fit any shape.
        """
        if not isinstance(one.kernel, k.Elementwise | k.Cast) or len(one.outputs) != 1:
            return None
        (made,) = one.outputs
        large = [at for at, var in enumerate(one.inputs) if var.spec.ndim > 0]
        if len(large) != 1 or one.inputs[large[0]].spec.shape != made.spec.shape:
            return None
        return large[0] if self._copies(one.inputs[large[0]]) else None

    def _copies(self, var: Var) -> bool:
        """Whether a value is a reshape that copies, read but once.

        Or one that has been moved behind an elementwise equation, so that chains stay together.
        """
        made = self.makers.get(var)
        if made is None or not isinstance(made.kernel, k.Reshape) or self.uses[var] != 1:
            return False
        (source,) = made.inputs
        return source not in self.uses or self.layouts.copies(made)
