"""The tracer: an interpreter that writes down what a function does to tensors, as a program."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any
from weakref import WeakSet

from lumus import _native
from lumus.core import kernels
from lumus.core.construct import new_tensor
from lumus.core.dispatch import find_plan
from lumus.core.frozen import frozen
from lumus.core.mode import Source, Tracer
from lumus.core.plan import Plan
from lumus.core.record import Node, Record
from lumus.core.site import call_site, describe
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.core.watch import Snapshot
from lumus.errors import ReadOnlyError, TraceError
from lumus.trace.program import Capture, Equation, HostInput, Program, Var, Write
from lumus.trace.value import Buffer, Link, Value, layout_of, view_layouts


@frozen
class Guard:
    """What a program depends on: how it is read, what it was, and where it lies."""

    what: str
    read: Callable[[], Any]
    value: Any
    watch: Callable[[Snapshot], None]

    def told(self, now: Any) -> str:
        """That it is another now, in words."""
        return f"{self.what}: {self.value!r} -> {now!r}"


class _Captured:
    """An array that existed before, or that Python filled in the function."""

    __slots__ = ("array", "is_constant", "value", "var", "version")

    def __init__(self, array: Any, value: Value, is_constant: bool) -> None:
        self.array = array
        self.value = value
        self.var = value.buffer.var
        self.is_constant = is_constant
        self.version = array.version


class ProgramTracer(Tracer):
    """Builds a `Program`. Tensors that existed before are captured when they are first met.

    The program names those (by the identity of their arrays) that its user has names for.
    """

    def __init__(self) -> None:
        self.equations: list[Equation] = []
        self.hosts: list[HostInput] = []
        self.guards: list[Guard] = []
        self._inputs: list[tuple[Value, Var]] = []
        self._captured: dict[int, _Captured] = {}  # by the identity of the array
        self._windows: dict[Any, _Captured] = {}  # by where the array lies
        self._owners: dict[Buffer, _Captured] = {}
        self._on_storage: dict[int, list[_Captured]] = {}  # those of `_windows`, by storage
        self._made: list[Capture] = []
        self._nodes: WeakSet[Node] = WeakSet()
        self.outside: dict[int, Tensor[Any]] = {}  # those that existed before, by their identity
        self.differentiates = False
        self.is_open = True
        self._counts: dict[Hashable, int] = {}
        self._undos: list[Callable[[], object]] = []

    # What `apply` and the rest of the library call ------------------------------------------------

    def run(self, plan: Plan, inputs: tuple[Tensor[Any], ...]) -> Any:
        """The data of the output of an op, or of each."""
        kernel = plan.kernel()
        values = [self.value_of(tensor) for tensor in inputs]
        if isinstance(kernel, kernels.Pieces):
            return tuple(self._pieces(kernel, values[0], plan.outputs))
        layouts = view_layouts(kernel, values[0].layout) if len(values) == 1 else None
        if layouts is not None:
            link = Link(plan.name, plan.attrs, kernel, plan.output)
            return self._window(values[0], (link,), layouts[0])
        outputs = self._emit(plan, kernel, values)
        data = [Value(self, Buffer(var), var.spec, layout_of(var.spec.shape)) for var in outputs]
        return tuple(data) if len(plan.outputs) > 1 else data[0]

    def run_into(
        self, plan: Plan, outputs: tuple[Tensor[Any], ...], inputs: tuple[Tensor[Any], ...]
    ) -> None:
        """An op whose results existing tensors take: their buffers have other values from here."""
        targets = [self.value_of(tensor) for tensor in outputs]
        for target in targets:
            self._check_written(plan.name, target)
        values = [self.value_of(tensor) for tensor in inputs]
        made = self._emit(plan, plan.kernel(), values)
        site = call_site()
        for target, var in zip(targets, made, strict=True):
            self._write(target, var, plan.name, site)

    def vjp(
        self, node: Node, record: Record, grads: tuple[Tensor[Any] | None, ...]
    ) -> tuple[Tensor[Any] | None, ...]:
        """The gradients of the inputs of a node."""
        self.differentiates = True
        return super().vjp(node, record, grads)

    def made(self, data: Any, spec: Spec) -> Any:
        """Memory filled in the function: a constant of the program; writes go to another value."""
        value = Value(self, Buffer(Var(spec)), spec, layout_of(spec.shape))
        self._made.append(Capture(value.buffer.var, data, True))
        return value

    def host(self, source: Source, spec: Spec) -> Any:
        """An input that Python computes at each call."""
        var = Var(spec)
        self.hosts.append(HostInput(var, source))
        return Value(self, Buffer(var), spec, layout_of(spec.shape))

    def guard(self, what: str, read: Callable[[], Any], watch: Callable[[Snapshot], None]) -> Any:
        """Notes that the program holds as long as `read` returns what it returns now."""
        value = read()
        self.guards.append(Guard(what, read, value, watch))
        return value

    def count(self, what: Hashable) -> int:
        """How often it has been asked that in this trace."""
        known = self._counts.get(what, 0)
        self._counts[what] = known + 1
        return known

    def when_refused(self, undo: Callable[[], object]) -> None:
        """Remembers what to do if the trace ends with an error."""
        self._undos.append(undo)

    def fail(self) -> None:
        """Does what is to be done after an error."""
        for undo in self._undos:
            undo()

    def recorded(self, node: Node) -> None:
        """Notes a node of this trace."""
        self._nodes.add(node)

    def has_recorded(self, node: Node) -> bool:
        """Whether a node was recorded in this trace."""
        return node in self._nodes

    # Building -------------------------------------------------------------------------------------

    def argument(self, spec: Spec, label: str, strides: tuple[int, ...]) -> Value:
        """A new input."""
        value = Value(self, Buffer(Var(spec, label)), spec, layout_of(spec.shape, strides))
        self._inputs.append((value, value.buffer.var))
        return value

    def value_of(self, tensor: Tensor[Any]) -> Value:
        """The value that stands for a tensor's data."""
        data = tensor.data
        if data.__class__ is Value:
            if data.tracer is not self or not self.is_open:
                raise data.used_outside()
            value: Value = data
            return value
        self.outside[id(tensor)] = tensor
        found = self._captured.get(id(data))
        return (found or self._capture(data, tensor.spec)).value

    def program(self, name: str, outputs: list[Tensor[Any]], labels: Mapping[int, str]) -> Program:
        """The program so far, with the results that these tensors have now.

        `labels` are names of captured arrays, by their identity.
        """
        for identity, one in self._captured.items():
            one.var.label = one.var.label or labels.get(identity, "")
        results = [self.value_of(tensor).current() for tensor in outputs]
        captured = list(self._windows.values())
        captures = [Capture(one.var, one.array, one.is_constant) for one in captured]
        given = [*self._inputs, *[(one.value, one.var) for one in captured]]
        writes = [
            Write(var, value.buffer.var, *value.buffer.written)
            for value, var in given
            if value.buffer.written is not None
        ]
        inputs = [var for _, var in self._inputs]
        return Program(
            name, inputs, [*captures, *self._made], self.hosts, self.equations, results, writes
        )

    def close(self) -> None:
        """Ends the trace: captured arrays are as they were before, versions included."""
        self.is_open = False
        for captured in self._captured.values():
            captured.array.rewind(captured.version)

    def through(self, var: Var, links: tuple[Link, ...]) -> Var:
        """The value of a window: the view ops that lead to it, on the buffer's value."""
        for link in links:
            made = Var(link.spec)
            self.equations.append(
                Equation(link.op, link.attrs, link.kernel, (var,), (made,), (call_site(),))
            )
            var = made
        return var

    def _emit(self, plan: Plan, kernel: kernels.Kernel, values: list[Value]) -> tuple[Var, ...]:
        outputs = tuple([Var(spec) for spec in plan.outputs])
        inputs = tuple([value.current() for value in values])
        attrs = None if plan.op is None else plan.attrs
        site = call_site()
        self.equations.append(Equation(plan.name, attrs, kernel, inputs, outputs, (site,)))
        return outputs

    def _window(self, value: Value, links: tuple[Link, ...], layout: Any) -> Value:
        var = self.through(value.current(), links)
        path = (*value.links, *links)
        return Value(self, value.buffer, links[-1].spec, layout, path, var)

    def _pieces(
        self, kernel: kernels.Pieces, value: Value, outputs: tuple[Spec, ...]
    ) -> list[Value]:
        """Each piece as a slice, without the axis if it is to lack it."""
        shape, axis, start = value.spec.shape, kernel.axis, 0
        pieces: list[Value] = []
        for size, spec in zip(kernel.sizes, outputs, strict=True):
            stop = start + size
            piece = new_tensor(value, value.spec)
            starts = tuple(start if at == axis else 0 for at in range(len(shape)))
            sizes = tuple(size if at == axis else length for at, length in enumerate(shape))
            ones = (1,) * len(shape)
            piece = self._apply("slice", piece, starts=starts, sizes=sizes, steps=ones)
            if not kernel.keepdims:
                piece = self._apply("reshape", piece, shape=spec.shape)
            pieces.append(piece.data)
            start = stop
        return pieces

    def _apply(self, name: str, *inputs: Tensor[Any], **attrs: Any) -> Tensor[Any]:
        plan = find_plan(name, *inputs, **attrs)
        result: Tensor[Any] = new_tensor(self.run(plan, inputs), plan.output)
        return result

    # Captured arrays ------------------------------------------------------------------------------

    def _capture(self, array: Any, spec: Spec) -> _Captured:
        place = (array.storage_id, array.address, array.strides, spec)
        found = self._windows.get(place)
        if found is None:
            neighbours = self._on_storage.setdefault(array.storage_id, [])
            for other in neighbours:
                written = other.value.buffer.written is not None
                if written and _native.arrays_overlap(array, other.array):
                    raise _shared(spec, other.value.spec)
            var = Var(spec)
            value = Value(self, Buffer(var), spec, layout_of(spec.shape, array.strides))
            found = self._windows[place] = _Captured(array, value, array.readonly)
            self._owners[value.buffer] = found
            neighbours.append(found)
        # Under this array too, which must live as long as its identity is a key.
        known = _Captured(array, found.value, found.is_constant)
        self._captured[id(array)] = known
        return known

    # Writes ---------------------------------------------------------------------------------------

    def _check_written(self, op: str, target: Value) -> None:
        for link in target.links:
            if isinstance(link.kernel, kernels.BroadcastTo | kernels.Windows):
                raise ReadOnlyError(
                    f"{op}: elements of this view share memory, so one write would change several",
                    hint="write to a copy of it: .copy()",
                    op=op,
                )
        own = self._owners.get(target.buffer)
        if own is not None:
            for other in self._on_storage[own.array.storage_id]:
                if other is not own and _native.arrays_overlap(own.array, other.array):
                    raise _shared(own.value.spec, other.value.spec)

    def _write(self, target: Value, var: Var, op: str, site: Any) -> None:
        buffer = target.buffer
        buffer.var = self._put(buffer.var, target.links, var)
        buffer.changes += 1
        buffer.written = (op, site)

    def _put(self, root: Var, links: tuple[Link, ...], value: Var) -> Var:
        """The buffer's value with `value` in the window that `links` lead to."""
        if not links:
            return value
        steps = [root]
        for link in links[:-1]:
            steps.append(self.through(steps[-1], (link,)))
        for base, link in zip(reversed(steps), reversed(links), strict=True):
            value = self._put_one(base, link.kernel, value)
        return value

    def _put_one(self, base: Var, kernel: kernels.Kernel, value: Var) -> Var:
        window = self._tensor(value)
        match kernel:
            case kernels.Reshape():
                made = self._apply("reshape", window, shape=base.spec.shape)
            case kernels.Permute(axes):
                inverse = tuple(axes.index(axis) for axis in range(len(axes)))
                made = self._apply("permute_dims", window, axes=inverse)
            case kernels.Slice(starts, sizes, steps):
                whole = self._tensor(base)
                made = self._apply(
                    "slice_put", whole, window, starts=starts, sizes=sizes, steps=steps
                )
            case _:
                raise AssertionError(kernel)
        data: Value = made.data
        return data.current()

    def _tensor(self, var: Var) -> Tensor[Any]:
        value = Value(self, Buffer(var), var.spec, layout_of(var.spec.shape))
        tensor: Tensor[Any] = new_tensor(value, var.spec)
        return tensor


def _shared(one: Spec, other: Spec) -> TraceError:
    site = call_site()
    return TraceError(
        f"compile: two tensors from outside, {one!r} and {other!r}, share memory, and one of them "
        f"is written at {describe(site)}",
        hint="use one of them in the function, and take views of it there",
        site=site,
    )
