"""Writing in place: what may be written, and the two ways of doing it.

In-place ops never record (docs/decisions/0001): a write that autograd would not see raises, before
anything has changed, and names the functional way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lumus import _native
from lumus.core.device import out_of_memory
from lumus.core.index_errors import index_error
from lumus.core.mode import MODE, Mode
from lumus.core.plan import PLANS, Plan, check_devices, make_plan, remember
from lumus.core.scalar.expressions import Expression
from lumus.core.site import call_site
from lumus.core.spec import Spec
from lumus.errors import DTypeError, LumusError, ReadOnlyError, RecordedWriteError, ShapeError

if TYPE_CHECKING:
    from lumus.core.tensor import Tensor


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
    repeats = 0 in strides and any(
        stride == 0 and length > 1 for stride, length in zip(strides, shape, strict=True)
    )
    if repeats and target.spec.size:
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
    plan = PLANS.get(key)
    if plan is None:
        plan = make_plan(key, name, inputs, attrs)
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
        spelled,
        expression,
        *[tensor.spec for tensor in targets],
        *[tensor.spec for tensor in inputs],
    )
    plan = PLANS.get(key)
    if plan is None:
        specs = tuple(tensor.spec for tensor in inputs)
        outputs = tuple(target.spec for target in targets)
        check_devices(spelled, (*outputs, *specs))
        plan = remember(key, Plan(spelled, None, expression, specs, outputs))
    _run_into(plan, targets, inputs, spelled, mode)


def _run_into(
    plan: Plan,
    targets: tuple[Tensor[Any], ...],
    inputs: tuple[Tensor[Any], ...],
    spelled: str,
    mode: Mode,
) -> None:
    try:
        if mode.interpreter is None:
            plan.into([target.data for target in targets], [tensor.data for tensor in inputs])
        else:
            mode.interpreter.run_into(plan, targets, inputs)
    except _native.IndexOutOfRange as error:
        raise index_error(spelled, error) from None
    except MemoryError:
        raise out_of_memory(spelled, plan.output) from None
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
