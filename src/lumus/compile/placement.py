"""What is known of a program's values before they have places: layouts, views, uses, who may write
where.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lumus.compile.failures import Failures
from lumus.core import kernels
from lumus.trace.program import Equation, Program, Var
from lumus.trace.value import VIEWS, layout_of, view_layouts

Strides = tuple[int, ...]


class Placement:
    """The native step of each equation, and how values lie and live.

    `layouts` are arrays without memory, None for what a callback gives, which may lie in any way.
    `views` says what each window is a window on. `last_read` is the last equation that reads a
    value as such, `last_use` the last that needs its memory, windows on it included (the number of
    equations for results).
    """

    def __init__(self, program: Program, strides: Mapping[Var, Strides]) -> None:
        self.program = program
        self.strides: dict[Var, Strides] = {**strides}
        for capture in program.captures:
            self.strides[capture.var] = tuple(capture.data.strides)
        self.layouts: dict[Var, Any] = {}
        self.views: dict[Var, Var] = {}
        self._wanted = _wanted_strides(program)
        self.steps: list[Any] = [self._prepared(one) for one in program.equations]
        self.last_read = {var: at for at, one in enumerate(program.equations) for var in one.inputs}
        self.last_use = self._last_uses()

    def _prepared(self, equation: Equation) -> Any:
        """The native step of an equation, None if it has none or is a view; notes its layouts."""
        kernel = equation.kernel
        if isinstance(kernel, VIEWS):
            (source,), (var,) = equation.inputs, equation.outputs
            base = self._layout(source)
            layouts = None if base is None else view_layouts(kernel, base)
            if layouts is not None:
                self.layouts[var] = layouts[0]
                self.views[var] = source
                return None
        inputs = tuple([var.spec for var in equation.inputs])
        outputs = tuple([var.spec for var in equation.outputs])
        device = outputs[0].device
        if isinstance(kernel, kernels.Reshape):
            # Strides do not allow a view: a dense copy, which is then seen under the new shape.
            return device.prepare_step(kernels.Copy(), inputs, inputs)
        step = device.prepare_step(kernel, inputs, outputs)
        if step is None:
            self.layouts.update(dict.fromkeys(equation.outputs, None))
        elif step.takes_permuted_outputs:
            wanted = {var: self._wanted[var] for var in equation.outputs if var in self._wanted}
            self.strides.update(wanted)
        return step

    def _layout(self, var: Var) -> Any:
        """The layout of a value; None for what a callback gives, which may have any."""
        if var not in self.layouts:
            strides = self.strides.get(var)
            self.layouts[var] = layout_of(var.spec.shape, strides)
        return self.layouts[var]

    def _last_uses(self) -> dict[Var, int]:
        """The last equation that needs the memory of each value, its views' uses included."""
        last: dict[Var, int] = {}
        for at, one in enumerate(self.program.equations):
            for var in (*one.inputs, *one.outputs):
                last[self.root(var)] = at
        end = len(self.program.equations)
        for var in self.program.results():
            last[self.root(var)] = end
        return last

    def root(self, var: Var) -> Var:
        """The value whose memory a value shows: itself, unless it is a window."""
        while var in self.views:
            var = self.views[var]
        return var

    def in_place_writes(self) -> dict[Var, Var]:
        """For values that may be computed where they are to be written: the target.

        Not before an equation that may raise, so that an error leaves everything as it was; one
        that itself may raise does so before it writes. Not in memory with gaps or another order of
        axes, if something reads the value: it, and windows on it, are dense.
        """
        safe = Failures(self.program).last
        maker = {var: at for at, one in enumerate(self.program.equations) for var in one.outputs}
        chosen: dict[Var, Var] = {}
        for write in self.program.writes:
            at = maker[write.value]
            if write.value in self.last_read and not self._is_dense(write.target):
                continue
            last = self.last_use.get(write.target, -1)
            reads_itself = last == at and self.may_take_over(at, write.target)
            if at >= safe and (last < at or reads_itself):
                chosen[write.value] = write.target
        return chosen

    def _is_dense(self, var: Var) -> bool:
        return self.strides.get(var) in (None, tuple(layout_of(var.spec.shape).strides))

    def may_take_over(self, at: int, value: Var) -> bool:
        """Whether equation `at` may write its result where an input lies that it reads.

        Its kernel must allow it, and read the value as it is, through no other window on it.
        """
        inputs, step = self.program.equations[at].inputs, self.steps[at]
        if step is None or value not in inputs:
            return False
        return all(
            step.may_overwrite(place) if var is value else not self._window_on(var, value)
            for place, var in enumerate(inputs)
        )

    def _window_on(self, var: Var, target: Var) -> bool:
        while var in self.views:
            var = self.views[var]
            if var is target:
                return True
        return False


def _wanted_strides(program: Program) -> dict[Var, Strides]:
    """How values that the plan itself places should lie, if not dense in the order of their axes.

    What is transposed and then reshaped is to lie as it is after that: the reshape, which would
    copy it, is a view.
    """
    results = set(program.results())
    turned: dict[Var, tuple[Var, kernels.Permute]] = {}
    wanted: dict[Var, Strides] = {}
    for one in program.equations:
        if isinstance(one.kernel, kernels.Permute):
            turned[one.outputs[0]] = (one.inputs[0], one.kernel)
        turn = turned.get(one.inputs[0]) if isinstance(one.kernel, kernels.Reshape) else None
        if turn is None or turn[0] in results:
            continue
        source, permute = turn
        moved = view_layouts(permute, layout_of(source.spec.shape))
        assert moved is not None
        if view_layouts(one.kernel, moved[0]) is None:
            dense = layout_of(one.inputs[0].spec.shape).strides
            strides = dict(zip(permute.axes, dense, strict=True))
            wanted[source] = tuple([strides[axis] for axis in range(source.spec.ndim)])
    return wanted
