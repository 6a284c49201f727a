"""`apply`, the one choke point through which every op runs, eager or traced, recorded or not.

The hot path is short: what `infer` and the choice of kernel return is kept per signature, in
`core.plan`. Recording happens here, above the interpreters, so that the ops of a backward pass are
dispatched, and can be traced, like any others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

from lumus import _native
from lumus.core import construct
from lumus.core.argument import check_arguments
from lumus.core.device import out_of_memory
from lumus.core.index_errors import index_error
from lumus.core.kinds import TITLE
from lumus.core.mode import MODE, Mode
from lumus.core.op import Needs
from lumus.core.plan import PLANS, Plan, make_plan
from lumus.core.record import Cut, CutReason, Node, Origin
from lumus.core.site import call_site

if TYPE_CHECKING:
    from lumus.core.tensor import Tensor

_new: Any = object.__new__


def apply(name: str, *inputs: Tensor[Any], **attrs: Any) -> Any:
    """Runs op `name` on tensors with static arguments `attrs`, and records it if need be.

    `attrs` are given in the order of the op's dataclass (a miss of the cache checks it).
    """
    count = len(inputs)
    try:
        if count == 2:
            x, y = inputs
            key: Any = (name, x.spec, y.spec, *attrs.values()) if attrs else (name, x.spec, y.spec)
        elif count == 1:
            x = y = inputs[0]
            key = (name, x.spec, *attrs.values()) if attrs else (name, x.spec)
        else:
            x = y = inputs[0]
            key = (name, *[tensor.spec for tensor in inputs], *attrs.values())
        plan = PLANS.get(key)
    except (AttributeError, TypeError):
        check_arguments(name, inputs, attrs)
        raise
    if plan is None:
        plan = make_plan(key, name, inputs, attrs)
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
        except MemoryError:
            raise out_of_memory(name, plan.output) from None
    else:
        data = mode.interpreter.run(plan, inputs)
    output = _new(construct.tensor_class)  # new_tensor, written out: this is the hot path
    output.data = data
    output.spec = plan.output
    output.origin = None
    if not mode.tracks:
        return output
    if count <= 2:
        if x.origin is not None or y.origin is not None:
            _connect(plan, inputs, output, mode)
        return output
    for tensor in inputs:
        if tensor.origin is not None:
            _connect(plan, inputs, output, mode)
            break
    return output


def _connect(plan: Plan, inputs: tuple[Tensor[Any], ...], output: Tensor[Any], mode: Mode) -> None:
    """Hangs the output on the graph of the inputs, or notes why it is not on it."""
    op = plan.op
    assert op is not None
    if mode.records and plan.recorded:
        origins, needs = _origins(inputs)
        if needs is not _NOTHING:
            records = plan.records
            record = records.get(needs) if records else None
            if record is None:
                record = op.record(inputs, output, plan.attrs, needs)
                if record.by_signature:
                    records[needs] = record
            output.origin = (Node(plan, record, origins, call_site()), 0)
            return
    if not mode.notes_cuts:
        return
    for tensor in inputs:
        if isinstance(tensor.origin, Cut):
            output.origin = tensor.origin
            return
        if tensor.origin is not None:
            reason: CutReason = "op" if mode.records else "no_grad"
            detail = op.reason or f"its result is {TITLE[plan.output.dtype.kind]}"
            source = ref(tensor.origin[0])
            output.origin = Cut(reason, op.name, call_site(), source, detail)
            return


_ONE, _FIRST, _SECOND, _BOTH = (True,), (True, False), (False, True), (True, True)
_NOTHING: Needs = ()


def _origins(inputs: tuple[Tensor[Any], ...]) -> tuple[tuple[Origin, ...], Needs]:
    """Where each input comes from, and whether it is on the graph (`_NOTHING` if none is)."""
    if len(inputs) == 1:
        origin = inputs[0].origin
        return (origin,), (_ONE if origin.__class__ is tuple else _NOTHING)
    if len(inputs) == 2:
        x, y = inputs[0].origin, inputs[1].origin
        if x.__class__ is tuple:
            return (x, y), (_BOTH if y.__class__ is tuple else _FIRST)
        return (x, y), (_SECOND if y.__class__ is tuple else _NOTHING)
    origins = tuple([one.origin for one in inputs])
    needs = tuple([origin.__class__ is tuple for origin in origins])
    return origins, needs if True in needs else _NOTHING
