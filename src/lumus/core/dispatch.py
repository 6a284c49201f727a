"""`apply`, the one choke point through which every op runs, eager or traced, recorded or not.

The hot path is short: what `infer` and the choice of kernel return is kept per signature, in
`core.plan`, and native code goes from a signature to its result. Recording happens here, above the
interpreters, so that the ops of a backward pass are dispatched, and can be traced, like any others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast
from weakref import ref

from lumus import _native
from lumus.core.argument import check_arguments
from lumus.core.construct import new_tensor
from lumus.core.device import out_of_memory
from lumus.core.kinds import TITLE
from lumus.core.mode import MODE, Mode
from lumus.core.op import Needs, op_index_error
from lumus.core.plan import PLANS, Plan, make_plan
from lumus.core.record import Cut, CutReason, Leaf, Node, Origin, leaves_near
from lumus.core.scalar.expressions import Expression
from lumus.core.site import call_site
from lumus.core.spec import Spec
from lumus.errors import GradientError

if TYPE_CHECKING:
    from lumus.core.tensor import Tensor


def find_plan(name: str, *inputs: Tensor[Any], **attrs: Any) -> Plan:
    """The plan of a signature, made if it has not been met before."""
    try:
        key = (name, *[tensor.spec for tensor in inputs], *attrs.values())
        plan = PLANS.get(key)
    except (AttributeError, TypeError):
        check_arguments(name, inputs, attrs)
        raise
    return make_plan(key, name, inputs, attrs) if plan is None else plan


def apply_any(name: str, *inputs: Tensor[Any], **attrs: Any) -> Any:
    """`apply` in full, for every case."""
    plan = find_plan(name, *inputs, **attrs)
    mode = MODE.get()
    try:
        if mode.interpreter is None:
            data = plan.run(*[tensor.data for tensor in inputs])
        else:
            data = mode.interpreter.run(plan, inputs)
    except _native.IndexOutOfRange as error:
        raise op_index_error(plan.name, error) from None
    except MemoryError:
        raise out_of_memory(name, plan.output) from None
    except TypeError:
        check_values_exist(inputs)
        raise
    return finish(plan, inputs, data, mode)


def check_values_exist(inputs: tuple[Tensor[Any], ...]) -> None:
    """Raises TraceError when one of them was kept from a traced function."""
    for tensor in inputs:
        outside = getattr(tensor.data, "used_outside", None)
        if outside is not None:
            raise outside()


apply = _native.apply
"""Runs op `name` on tensors with static arguments `attrs`, and records it if need be.

``apply(name, *inputs, **attrs)``, with `attrs` in the order of the op's class of them (a new
signature is checked for it). The common case runs in native code (native/bind/dispatch.cpp), which
does as `apply_any` and hands it the rest.
"""


def finish(plan: Plan, inputs: tuple[Tensor[Any], ...], data: Any, mode: Mode) -> Any:
    """The tensor of a result, on the graph if need be; a tuple of them for several results."""
    if data.__class__ is tuple:
        output: Any = tuple(map(new_tensor, data, plan.outputs))
    else:
        output = new_tensor(data, plan.output)
    if mode.tracks and any(tensor.origin is not None for tensor in inputs):
        connect(plan, inputs, output, mode)
    return output


def connect(plan: Plan, inputs: tuple[Tensor[Any], ...], output: Any, mode: Mode) -> None:
    """Hangs the output (or each of a tuple) on the graph, or notes why it is not on it."""
    op = plan.op
    assert op is not None
    if mode.records and plan.recorded:
        origins, needs = _origins(inputs)
        if needs is not _NOTHING:
            if needs is not _ONE and needs is not _BOTH:
                _check_uncompiled(plan, origins)
            records = plan.records
            record = records.get(needs) if records else None
            if record is None:
                record = op.record(inputs, output, plan.attrs, needs)
                if record.by_signature:
                    records[needs] = record
            node = Node(plan, record, origins, call_site())
            if mode.tracer is not None:
                mode.tracer.recorded(node)
            if output.__class__ is not tuple:
                output.origin = (node, 0)
                return
            for number, one in enumerate(output):
                if one.spec.dtype.kind == "float":
                    one.origin = (node, number)
                elif mode.notes_cuts:
                    one.origin = _cut(plan, inputs, one.spec, mode)
            return
    if mode.notes_cuts:
        for one in output if output.__class__ is tuple else (output,):
            one.origin = _cut(plan, inputs, one.spec, mode)


def _check_uncompiled(plan: Plan, origins: tuple[Origin, ...]) -> None:
    """Raises GradientError for what a compiled function returned, on the way of a gradient."""
    for origin in origins:
        if origin.__class__ is Cut and cast("Cut", origin).reason == "compile":
            raise GradientError(
                f"{plan.name}: an operand was {origin}, through which no gradient goes; here it "
                "meets one that requires grad",
                hint="compile the whole step with its backward, or give .detach() of the operand "
                "(or call the compiled function under lumus.no_grad()) if it is a constant",
                op=plan.name,
            )


def _cut(plan: Plan, inputs: tuple[Tensor[Any], ...], spec: Spec, mode: Mode) -> Cut | None:
    """Why an output is not on the graph that an input is on; None if no input is."""
    for tensor in inputs:
        if isinstance(tensor.origin, Cut):
            return tensor.origin
        if tensor.origin is not None:
            assert plan.op is not None
            reason: CutReason = "op" if mode.records else "no_grad"
            detail = plan.op.reason or f"its result is {TITLE[spec.dtype.kind]}"
            node = tensor.origin[0]
            leaves = None if node.__class__ is Leaf else leaves_near(node)
            return Cut(reason, plan.name, call_site(), ref(node), detail, leaves)
    return None


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


def bind_tensor_class(cls: type[Tensor[Any]]) -> None:
    """Tells the native part of `apply` whose slots it reads; called once, by core.tensor."""
    _native.bind_dispatch(
        {
            "tensor": cls,
            "expression": Expression,
            "mode_variable": MODE,
            "mode": Mode,
            "plan": Plan,
            "plans": PLANS,
            "apply_any": apply_any,
            "find_plan": find_plan,
            "connect": connect,
            "finish": finish,
        }
    )
