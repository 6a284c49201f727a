"""From a program to what the native executor runs: slots, instructions, and one arena.

Every value gets a slot: a place in the arena, new memory for what the caller is given, the array
that it is written to, or a window on another slot (views cost nothing while the plan runs). Kernels
without a native step are called back through Python; `Lowered.rows` says which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lumus import _native
from lumus.compile.failures import Failures
from lumus.compile.memory import Lifetime, MemoryPlan, plan_memory
from lumus.compile.placement import Placement, Strides
from lumus.core import kernels
from lumus.core.frozen import frozen
from lumus.core.spec import Spec
from lumus.trace.program import Equation, HostInput, Program, Var
from lumus.trace.value import VIEWS, layout_of


@frozen
class Row:
    """What one equation became: "step" (native), "call" (Python), "view" (nothing to run)."""

    equation: Equation
    how: str


@frozen
class Lowered:
    """A program made ready: the native plan, the arrays of host inputs, and its memory.

    `arena` is what the plan computes in, which it may share with other plans.
    """

    executable: Any
    arena: _native.Arena
    hosts: tuple[tuple[HostInput, Any], ...]
    rows: tuple[Row, ...]
    memory: MemoryPlan


def lower(
    program: Program, layouts: Mapping[Var, Strides], arena: _native.Arena | None = None
) -> Lowered:
    """Makes the native plan of a program whose inputs have these strides.

    It computes in `arena`, or in one of its own.
    """
    lowering = _Lowering(Failures(_separated(program)).first(), layouts)
    return lowering.lowered(arena or _native.Arena())


def _separated(program: Program) -> Program:
    """The same program, in which each result has an equation of its own that makes it.

    A result that is given, or wanted twice, is copied, and so is the value of a write that is a
    given one: it must be read before anything is written.
    """
    made = {
        var for one in program.equations if not isinstance(one.kernel, VIEWS) for var in one.outputs
    }
    equations = list(program.equations)

    def own(var: Var) -> Var:
        if var in made:
            made.discard(var)
            return var
        copy = Var(var.spec, var.label)
        equations.append(Equation("copy", None, kernels.Copy(), (var,), (copy,)))
        return copy

    values = {write.target: own(write.value) for write in program.writes}
    outputs = [own(var) for var in program.outputs]
    writes = [
        type(write)(write.target, values[write.target], write.op, write.site)
        for write in program.writes
    ]
    return program.with_results(equations, outputs, writes)


def _keeping(
    run: Callable[..., Any], planned: Sequence[bool], specs: Sequence[Spec]
) -> Callable[..., Any]:
    """A user's code, given copies of what lies in the arena, since it may keep what it is given."""
    copies = [spec.device.prepare(kernels.Copy(), (spec,), (spec,)) for spec in specs]

    def keeping(*data: Any) -> Any:
        places = zip(data, planned, copies, strict=True)
        return run(*[copy(one) if is_planned else one for one, is_planned, copy in places])

    return keeping


class _Place:
    """Where a value lies: a slot, and its layout if known."""

    __slots__ = ("layout", "slot")

    def __init__(self, slot: int, layout: Any) -> None:
        self.slot = slot
        self.layout = layout


class _Lowering:
    def __init__(self, program: Program, layouts: Mapping[Var, Strides]) -> None:
        self.program = program
        self.known = Placement(program, layouts)
        self.in_place = self.known.in_place_writes()
        self.slots: list[Any] = []
        self.bound: list[tuple[int, Any]] = []
        self.places: dict[Var, _Place] = {}
        self.instructions: list[Any] = []
        self.rows: list[Row] = []
        self.hosts: list[tuple[HostInput, Any]] = []
        # Of values in the arena: the block that holds each, and when each block is needed.
        self.block_of: dict[Var, int] = {}
        self.block_slots: list[list[int]] = []
        self.first: list[int] = []
        self.bytes: list[int] = []
        self.wanted = set(program.outputs)
        self.written = {write.value for write in program.writes}

    def lowered(self, arena: _native.Arena) -> Lowered:
        program = self.program
        for var in program.inputs:
            strides = self.known.strides[var]
            slot = self._slot(("input", var.spec.dtype.code, var.spec.shape, strides))
            self.places[var] = _Place(slot, layout_of(var.spec.shape, strides))
        for capture in program.captures:
            self._bind(capture.var, capture.data)
        for host in program.hosts:
            array = host.var.spec.device.allocate(host.var.spec)
            self._bind(host.var, array)
            self.hosts.append((host, array))
        for at, equation in enumerate(program.equations):
            self._equation(at, equation)
        self._copy_writes()
        memory = self._plan()
        executable = _native.Executable(
            arena,
            memory.arena_bytes,
            self.slots,
            self.instructions,
            [self.places[var].slot for var in program.outputs],
            self.bound,
        )
        return Lowered(executable, arena, tuple(self.hosts), tuple(self.rows), memory)

    def _slot(self, description: Any) -> int:
        self.slots.append(description)
        return len(self.slots) - 1

    def _bind(self, var: Var, array: Any) -> None:
        slot = self._slot(("bound",))
        self.bound.append((slot, array))
        self.places[var] = _Place(slot, layout_of(var.spec.shape, array.strides))

    def _equation(self, at: int, equation: Equation) -> None:
        if equation.outputs[0] in self.known.views:
            self._view(equation)
            self.rows.append(Row(equation, "view"))
            return
        sources = [self.places[var].slot for var in equation.inputs]
        step = self.known.steps[at]
        if step is None:
            self._call(at, equation, sources)
            return
        targets = [self._output(at, equation, var) for var in equation.outputs]
        if isinstance(equation.kernel, kernels.Reshape):
            spec = equation.inputs[0].spec
            dense = spec_strides(spec)
            targets = [self._slot(("view", targets[0], spec.dtype.code, 0, spec.shape, dense))]
        self.instructions.append(("step", step, sources, targets))
        dying = self._dying(at)
        if dying:
            self.instructions.append(("free", dying))
        self.rows.append(Row(equation, "step"))

    def _call(self, at: int, equation: Equation, sources: list[int]) -> None:
        inputs = tuple([var.spec for var in equation.inputs])
        outputs = tuple([var.spec for var in equation.outputs])
        run = outputs[0].device.prepare(equation.kernel, inputs, outputs)
        if isinstance(equation.kernel, kernels.Callback):
            planned = [self.known.root(var) in self.block_of for var in equation.inputs]
            run = _keeping(run, planned, inputs)
        targets = [self._callback_output(var) for var in equation.outputs]
        self.instructions.append(("call", run, sources, targets, self._dying(at)))
        self.rows.append(Row(equation, "call"))

    def _view(self, equation: Equation) -> None:
        (source,), (var,) = equation.inputs, equation.outputs
        base = self.places[source]
        offset = 0
        if isinstance(equation.kernel, kernels.Slice):
            strides = base.layout.strides
            offset = sum(
                start * stride
                for start, stride in zip(equation.kernel.starts, strides, strict=True)
            )
        spec, layout = var.spec, self.known.layouts[var]
        slot = self._slot(
            ("view", base.slot, spec.dtype.code, offset, spec.shape, tuple(layout.strides))
        )
        self.places[var] = _Place(slot, layout)

    def _output(self, at: int, equation: Equation, var: Var) -> int:
        """The slot of a value that a step computes: where it is wanted, or in the arena."""
        target = self.in_place.get(var)
        if target is not None and self._fits(at, target):
            place = self.places[target]
            self.places[var] = _Place(place.slot, place.layout)
            return place.slot
        self.in_place.pop(var, None)
        spec = var.spec
        layout = layout_of(spec.shape)
        if var in self.wanted:
            slot = self._slot(("fresh", spec.dtype.code, spec.shape))
            self.places[var] = _Place(slot, layout)
            return slot
        slot = self._slot(["planned", spec.dtype.code, spec.shape, 0])
        self.places[var] = _Place(slot, layout)
        strides = self.known.strides.get(var)
        block = self._dying_input(at, equation, var) if strides is None else None
        if block is None:
            block = len(self.first)
            self.first.append(at)
            self.bytes.append(spec.nbytes)
            self.block_slots.append([])
        self.block_of[var] = block
        self.block_slots[block].append(slot)
        if strides is not None:
            slot = self._slot(("view", slot, spec.dtype.code, 0, spec.shape, strides))
            self.places[var] = _Place(slot, layout_of(spec.shape, strides))
        return slot

    def _fits(self, at: int, target: Var) -> bool:
        """Whether a step can write straight into a target; most kernels want it dense."""
        dense = layout_of(target.spec.shape).strides == self.places[target].layout.strides
        return dense or self.known.steps[at].takes_strided_outputs

    def _dying_input(self, at: int, equation: Equation, var: Var) -> int | None:
        """The block of an input that is not needed any more, and that the result can take over."""
        for source in equation.inputs:
            block = self.block_of.get(source)
            if block is None or source.spec is not var.spec or self.known.last_use[source] != at:
                continue
            if source in self.known.strides:
                continue  # it lies in another way
            taken = any(self.block_of.get(other) == block for other in equation.outputs)
            if not taken and self.known.may_take_over(at, source):
                return block
        return None

    def _callback_output(self, var: Var) -> int:
        self.in_place.pop(var, None)
        if var in self.wanted:
            slot = self._slot(("fresh", var.spec.dtype.code, var.spec.shape))
            self.places[var] = _Place(slot, layout_of(var.spec.shape))
        else:
            slot = self._slot(("dynamic", var.spec.dtype.code))
            self.places[var] = _Place(slot, None)
        return slot

    def _dying(self, at: int) -> list[int]:
        """Slots that callbacks have set and nobody needs after equation `at`.

        What is written to a tensor is needed at the end.
        """
        read = dict.fromkeys(self.program.equations[at].inputs)
        return [
            self.places[var].slot
            for var in read
            if self.places[var].layout is None
            and self.known.last_read[var] == at
            and var not in self.written
        ]

    def _copy_writes(self) -> None:
        """At the end: values that could not be computed where they are to be written."""
        for write in self.program.writes:
            if write.value in self.in_place:
                continue
            spec = write.target.spec
            source, target = self.places[write.value].slot, self.places[write.target].slot
            copy = spec.device.prepare_step(kernels.Copy(), (spec,), (spec,))
            if copy is not None:
                self.instructions.append(("step", copy, [source], [target]))
            else:
                run = spec.device.prepare_into(kernels.Copy(), (spec,), (spec,))
                self.instructions.append(("into", run, [source], [target]))

    def _plan(self) -> MemoryPlan:
        last = list(self.first)
        for var, block in self.block_of.items():
            last[block] = max(last[block], self.known.last_use[var])
        lifetimes = [
            Lifetime(nbytes, first, end)
            for nbytes, first, end in zip(self.bytes, self.first, last, strict=True)
        ]
        plan = plan_memory(lifetimes)
        for slots, offset in zip(self.block_slots, plan.offsets, strict=True):
            for slot in slots:
                self.slots[slot] = (*self.slots[slot][:3], offset)
        return plan


def spec_strides(spec: Spec) -> Strides:
    """The strides of dense memory."""
    strides: Sequence[int] = layout_of(spec.shape).strides
    return tuple(strides)
