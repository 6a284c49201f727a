"""`apply`, the one choke point through which every op runs, eager or traced, recorded or not.

The hot path is short: what `infer` and the choice of kernel return is cached per (op, specs, attrs)
in a `Plan`. Recording happens here, above the interpreters, so that the ops of a backward pass are
dispatched, and can be traced, like any others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import ref

from lumus import _native
from lumus.core import construct
from lumus.core.device import Run
from lumus.core.kernels import Elementwise, Kernel
from lumus.core.mode import MODE, Mode
from lumus.core.op import OPS, Needs, Op
from lumus.core.record import Cut, Node, Origin, Record
from lumus.core.scalar.expressions import Expression
from lumus.core.site import call_site
from lumus.core.spec import Spec
from lumus.errors import (
    DeviceError,
    DTypeError,
    IndexRangeError,
    LumusError,
    ReadOnlyError,
    RecordedWriteError,
    ShapeError,
)

if TYPE_CHECKING:
    from lumus.core.tensor import Tensor

MAX_PLANS = 1 << 16


class Plan:
    """What is decided once per signature: the op, its attrs, its output specs, the ready kernel."""

    __slots__ = ("attrs", "into", "name", "op", "output", "outputs", "records", "run", "specs")

    def __init__(
        self,
        name: str,
        op: Op | None,
        attrs: Any,
        specs: tuple[Spec, ...],
        outputs: tuple[Spec, ...],
    ) -> None:
        self.name = name
        self.op = op
        self.attrs = attrs
        self.specs = specs
        self.outputs = outputs
        self.output = outputs[0]
        self.run: Run = self._first_run
        self.into: Run = self._first_into
        # Records that depend on the signature alone (`Record.by_signature`), by which inputs need
        # it.
        self.records: dict[Needs, Record] = {}

    def kernel(self) -> Kernel:
        """The kernel that computes it; an update (without an op) is its expression."""
        if self.op is None:
            return Elementwise(self.attrs)
        return self.op.kernel(self.specs, self.attrs)

    def _first_run(self, *data: Any) -> Any:
        # The kernel is made ready at its first eager use: a traced op may never need it.
        self.run = self.output.device.prepare(self.kernel(), self.specs, self.outputs)
        return self.run(*data)

    def _first_into(self, outputs: Any, inputs: Any) -> None:
        self.into = self.output.device.prepare_into(self.kernel(), self.specs, self.outputs)
        self.into(outputs, inputs)


_plans: dict[Any, Plan] = {}
_new: Any = object.__new__


def apply(name: str, *inputs: Tensor[Any], **attrs: Any) -> Any:
    """Runs op `name` on tensors with static arguments `attrs`, and records it if need be.

    `attrs` are given in the order of the op's dataclass (a miss of the cache checks it).
    """
    count = len(inputs)
    if count == 2:
        x, y = inputs
        key: Any = (name, x.spec, y.spec, *attrs.values()) if attrs else (name, x.spec, y.spec)
    elif count == 1:
        x = y = inputs[0]
        key = (name, x.spec, *attrs.values()) if attrs else (name, x.spec)
    else:
        x = y = inputs[0]
        key = (name, *[tensor.spec for tensor in inputs], *attrs.values())
    plan = _plans.get(key)
    if plan is None:
        plan = _make_plan(key, name, inputs, attrs)
    mode = MODE.get()
    if mode.interpreter is None:
        try:
            if count == 2:
                data = plan.run(x.data, y.data)
            elif count == 1:
                data = plan.run(x.data)
            else:
                data = plan.run(*[tensor.data for tensor in inputs])
        except _native.IndexOutOfRange as error:
            raise index_error(name, error) from None
    else:
        data = mode.interpreter.run(plan, inputs)
    output = _new(construct.tensor_class)  # new_tensor, written out: this is the hot path
    output.data = data
    output.spec = plan.output
    output.node = None
    output.index = 0
    output.cut = None
    if not mode.tracks:
        return output
    if count <= 2:
        if x.node is not None or y.node is not None or x.cut is not None or y.cut is not None:
            _connect(plan, inputs, output, mode)
        return output
    for tensor in inputs:
        if tensor.node is not None or tensor.cut is not None:
            _connect(plan, inputs, output, mode)
            break
    return output


def _connect(plan: Plan, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], mode: Mode) -> None:
    """Hangs the output on the graph of the inputs, or notes why it is not on it."""
    op = plan.op
    assert op is not None
    if mode.records and op.differentiable:
        origins, needs = _origins(inputs)
        if needs is not _NOTHING:
            records = plan.records
            record = records.get(needs) if records else None
            if record is None:
                record = op.record(inputs, output, plan.attrs, needs)
                if record.by_signature:
                    records[needs] = record
            output.node = Node(plan, record, origins, call_site())
            return
    if not mode.notes_cuts:
        return
    for tensor in inputs:
        if tensor.cut is not None:
            output.cut = tensor.cut
            return
        if tensor.node is not None and not mode.records:
            output.cut = Cut("no_grad", op.name, call_site(), ref(tensor.node))
            return


_ONE, _FIRST, _SECOND, _BOTH = (True,), (True, False), (False, True), (True, True)
_NOTHING: Needs = ()
_NOWHERE: tuple[Origin, ...] = ()


def _origins(inputs: tuple[Tensor[Any], ...]) -> tuple[tuple[Origin, ...], Needs]:
    """Where each input comes from, and whether it is on the graph (`_NOTHING` if none is)."""
    if len(inputs) == 1:
        node = inputs[0].node
        return (((node, inputs[0].index),), _ONE) if node is not None else (_NOWHERE, _NOTHING)
    if len(inputs) == 2:
        x, y = inputs
        x_node, y_node = x.node, y.node
        if x_node is None:
            if y_node is None:
                return _NOWHERE, _NOTHING
            return (x.cut, (y_node, y.index)), _SECOND
        if y_node is None:
            return ((x_node, x.index), y.cut), _FIRST
        return ((x_node, x.index), (y_node, y.index)), _BOTH
    needs = tuple([one.node is not None for one in inputs])
    if True not in needs:
        return _NOWHERE, _NOTHING
    return tuple([(one.node, one.index) if one.node else one.cut for one in inputs]), needs


def _make_plan(key: Any, name: str, inputs: tuple[Tensor[Any], ...], attrs: dict[str, Any]) -> Plan:
    op = OPS[name]
    specs = tuple(tensor.spec for tensor in inputs)
    _check_devices(name, specs)
    values = None
    if op.attrs is not None:
        # Two orders of the same attrs would be two keys, and could be one key for different attrs.
        assert tuple(attrs) == op.attrs.field_names, (name, tuple(attrs))
        values = op.attrs(**attrs)
    return _remember(key, Plan(name, op, values, specs, (op.infer(specs, values),)))


def _remember(key: Any, plan: Plan) -> Plan:
    if len(_plans) >= MAX_PLANS:
        _plans.clear()
    _plans[key] = plan
    return plan


def _check_devices(name: str, specs: tuple[Spec, ...]) -> None:
    for spec in specs[1:]:
        if spec.device is not specs[0].device:
            raise DeviceError(
                f"{name}: tensors are on devices {specs[0].device} and {spec.device}",
                hint=f"move one, for example with .to_device({specs[0].device.name!r})",
                op=name,
                specs=specs,
            )


def index_error(name: str, error: Any) -> IndexRangeError:
    """The user's error for a bad index that a kernel met."""
    return _out_of_range(name, *error.args[:4])


def index_error_of(op: str, axis: int, error: IndexRangeError) -> IndexRangeError:
    """The same error as the function that the user called would word it."""
    return _out_of_range(op, error.index, error.bound, error.position, axis)


def _out_of_range(
    op: str, index: int, bound: int, position: tuple[int, ...], axis: int
) -> IndexRangeError:
    where = f" (at position {list(position)} of the indices)" if position else ""
    return IndexRangeError(
        f"{op}: index {index} is out of range for axis {axis} of length {bound}{where}",
        op=op,
        index=index,
        bound=bound,
        position=tuple(position),
        axis=axis,
    )


def check_writable(op: str, target: Tensor[Any], functional: str, mode: Mode) -> None:
    """Raises, before anything has changed, when `target` must not be written in place."""
    if mode.records and target.node is not None:
        what = "requires grad" if target.is_leaf else "is part of a recorded graph"
        raise RecordedWriteError(
            f"{op}: the tensor {target.spec!r} {what}, so autograd would not see this write",
            hint=f"use {functional}, or write under lumus.no_grad()",
            op=op,
        )
    if target.data.readonly:
        raise ReadOnlyError(
            f"{op}: the tensor is frozen (it shares memory that is read-only)",
            hint="write to a copy of it: .copy()",
            op=op,
        )
    strides, shape = target.data.strides, target.spec.shape
    if 0 in strides and any(
        stride == 0 and length > 1 for stride, length in zip(strides, shape, strict=True)
    ):
        raise ReadOnlyError(
            f"{op}: elements of this broadcast tensor share memory, so one write would change "
            "several",
            hint="write to a copy of it: .copy()",
            op=op,
        )


def check_written_values(
    op: str, target: Tensor[Any], values: tuple[Tensor[Any], ...], functional: str, mode: Mode
) -> None:
    """Raises when a value on the graph would be written in place, which would lose its gradient."""
    if not mode.records:
        return
    for tensor in values:
        if tensor.node is not None and tensor is not target:
            raise RecordedWriteError(
                f"{op}: a value that requires grad is written into a tensor in place, "
                "so autograd would lose its gradient",
                hint=f"use {functional}, or write under lumus.no_grad()",
                op=op,
            )


def apply_into(
    name: str,
    target: Tensor[Any],
    *inputs: Tensor[Any],
    functional: str,
    spelled: str,
    **attrs: Any,
) -> None:
    """Runs op `name` with its result written into `target`; `spelled` is the method's name."""
    mode = MODE.get()
    check_writable(spelled, target, functional, mode)
    check_written_values(spelled, target, inputs, functional, mode)
    key = (name, *[tensor.spec for tensor in inputs], *attrs.values())
    plan = _plans.get(key)
    if plan is None:
        plan = _make_plan(key, name, inputs, attrs)
    if plan.output is not target.spec:
        raise _mismatch(spelled, plan.output, target.spec)
    _run_into(plan, (target,), inputs, spelled, mode)


def update(
    spelled: str,
    expression: Expression,
    targets: tuple[Tensor[Any], ...],
    inputs: tuple[Tensor[Any], ...],
) -> None:
    """Writes each output of an elementwise expression into its target, all in one pass.

    For optimisers: the targets have one shape, to which all inputs broadcast; they are usually
    among the inputs. Call it under `no_grad`.
    """
    mode = MODE.get()
    for target in targets:
        check_writable(spelled, target, "a new tensor", mode)
    key = (
        "update",
        expression,
        *[tensor.spec for tensor in targets],
        *[tensor.spec for tensor in inputs],
    )
    plan = _plans.get(key)
    if plan is None:
        specs = tuple(tensor.spec for tensor in inputs)
        outputs = tuple(target.spec for target in targets)
        _check_devices(spelled, (*outputs, *specs))
        plan = _remember(key, Plan(spelled, None, expression, specs, outputs))
    _run_into(plan, targets, inputs, spelled, mode)


def _run_into(
    plan: Plan,
    targets: tuple[Tensor[Any], ...],
    inputs: tuple[Tensor[Any], ...],
    spelled: str,
    mode: Mode,
) -> None:
    if mode.interpreter is None:
        try:
            plan.into([target.data for target in targets], [tensor.data for tensor in inputs])
        except _native.IndexOutOfRange as error:
            raise index_error(spelled, error) from None
    else:
        mode.interpreter.run_into(plan, targets, inputs)
    site = call_site()
    for target in targets:
        target.data.note_write(spelled, site)


def _mismatch(op: str, got: Spec, wanted: Spec) -> LumusError:
    if got.shape != wanted.shape:
        return ShapeError(
            f"{op}: the result has shape {got.shape}, which does not fit into {wanted.shape}",
            op=op,
        )
    return DTypeError(
        f"{op}: the result is {got.dtype.name}, the tensor is {wanted.dtype.name}",
        hint=f"convert the operand with .astype(lumus.{wanted.dtype.name})",
        op=op,
    )


Composite = Callable[..., Any]
_composites: dict[str, Composite] = {}


def composite(name: str) -> Callable[[Composite], Composite]:
    """Makes a function of several ops known by name, so that a Tensor method can call it."""

    def add(function: Composite) -> Composite:
        _composites[name] = function
        return function

    return add


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    """Calls the composite of that name."""
    return _composites[name](*args, **kwargs)
