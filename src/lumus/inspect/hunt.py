"""The interpreter behind `check_finite`, which looks at what ops compute, and its bookkeeping."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from lumus.core.construct import new_tensor
from lumus.core.device import Data, Run
from lumus.core.dispatch import find_plan
from lumus.core.dtypes import bool_
from lumus.core.kernels.elementwise import Elementwise
from lumus.core.kernels.reduction import Reduce
from lumus.core.mode import MODE, Interpreter, Mode
from lumus.core.plan import Plan
from lumus.core.record import Node, Record
from lumus.core.scalar import functions as scalar
from lumus.core.scalar.expressions import Expression, expression
from lumus.core.site import call_site
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.inspect.suspect import Kinds, Operand, Suspect
from lumus.nn.module import Module

Tensors = tuple[Tensor[Any], ...]

_CLEAN: dict[Kinds, Expression] = {
    Kinds(nan=True, inf=True): expression(lambda x: scalar.isfinite(x)),
    Kinds(nan=True, inf=False): expression(lambda x: ~scalar.isnan(x)),
    Kinds(nan=False, inf=True): expression(lambda x: ~scalar.isinf(x)),
}


@lru_cache(maxsize=4096)
def _test(spec: Spec, clean: Expression) -> Run:
    """A kernel that tells, in one pass, whether `clean` holds for all elements."""
    kernel = Reduce("all", tuple(range(spec.ndim)), False, clean)
    answer = spec.with_shape(()).with_dtype(bool_)
    return spec.device.prepare(kernel, (spec,), (answer,))


MAX_MEANT = 1 << 16


class Hunt:
    """What is looked for, where, and which tensors may hold it all the same."""

    def __init__(
        self,
        kinds: Kinds,
        *,
        forward: bool,
        backward: bool,
        allow: frozenset[str],
        model: Module | None,
    ) -> None:
        self.kinds = kinds
        self.clean = _CLEAN[kinds]
        self.forward = forward
        self.backward = backward
        self.allow = allow
        self.model = model
        self._meant: set[int] = set()
        self._meant_before: set[int] = set()

    def judge(self, suspect: Suspect) -> None:
        """Raises NonFiniteError, or notes that what the result holds is no mistake."""
        if suspect.op not in self.allow:
            error = suspect.error(self.is_meant, self.name_of)
            if error is not None:
                raise error
        self.let_pass(suspect.result)

    def is_meant(self, tensor: Tensor[Any]) -> bool:
        """Whether what a tensor holds is no mistake: a number of the program, or let pass."""
        data = tensor.data
        if tensor.spec.shape == () and tensor.origin is None and data.readonly:
            return True
        return data.storage_id in self._meant or data.storage_id in self._meant_before

    def let_pass(self, tensor: Tensor[Any]) -> None:
        """Notes that what a tensor holds is no mistake; the oldest of very many are forgotten."""
        if len(self._meant) >= MAX_MEANT:
            self._meant_before, self._meant = self._meant, set()
        self._meant.add(tensor.data.storage_id)

    def name_of(self, tensor: Tensor[Any]) -> str:
        """The name of a parameter or buffer of the model; empty for others."""
        if self.model is not None:
            for name, value in self.model.state_dict().items():
                if value.data.storage_id == tensor.data.storage_id:
                    return name
        return ""


class Checker(Interpreter):
    """Runs ops as those around it do, and looks at what they computed.

    The ops within a vjp are left alone, and its results are looked at: some of its steps may pass
    through infinities that its last one leaves out.
    """

    def __init__(self, hunt: Hunt, around: Interpreter | None) -> None:
        self.hunt = hunt
        self.around = around
        self.inner = Interpreter() if around is None else around
        self.has_values = self.inner.has_values
        self.looks = hunt.forward and self.has_values

    def run(self, plan: Plan, inputs: Tensors) -> Any:
        result = self.inner.run(plan, inputs)
        if self.looks:
            if result.__class__ is tuple:
                for number, (data, spec) in enumerate(zip(result, plan.outputs, strict=True)):
                    if self._is_suspect(data, spec, inputs):
                        self._judge_result(plan, number, data, inputs)
            elif self._is_suspect(result, plan.output, inputs):
                self._judge_result(plan, 0, result, inputs)
        return result

    def run_into(self, plan: Plan, outputs: Tensors, inputs: Tensors) -> None:
        floats = self.looks and any(spec.dtype.kind == "float" for spec in plan.outputs)
        if not floats:
            self.inner.run_into(plan, outputs, inputs)
            return
        before = [_copy(one) for one in outputs]
        self.inner.run_into(plan, outputs, inputs)
        for number, (target, spec) in enumerate(zip(outputs, plan.outputs, strict=True)):
            if self._is_suspect(target.data, spec, ()):
                self._judge_write(plan, number, outputs, before, inputs)

    def vjp(
        self, node: Node, record: Record, grads: tuple[Tensor[Any] | None, ...]
    ) -> tuple[Tensor[Any] | None, ...]:
        mode = MODE.get()
        token = MODE.set(Mode(mode.records, mode.notes_cuts, self.around, mode))
        try:
            results = self.inner.vjp(node, record, grads)
        finally:
            MODE.reset(token)
        if self.hunt.backward and self.has_values:
            came = tuple([grad for grad in grads if grad is not None])
            for number, one in enumerate(results):
                if one is not None and self._is_suspect(one.data, one.spec, came):
                    kinds = self.hunt.kinds
                    self.hunt.judge(_derived(kinds, node, record, number, one, grads))
        return results

    def _is_suspect(self, data: Data, spec: Spec, inputs: Tensors) -> bool:
        """Whether new elements hold what is hunted; a view of an input holds none that are new."""
        if spec.dtype.kind != "float":
            return False
        if inputs and data.storage_id == inputs[0].data.storage_id:
            return False
        return not _test(spec, self.hunt.clean)(data).item()

    def _judge_result(self, plan: Plan, number: int, data: Data, inputs: Tensors) -> None:
        kinds = self.hunt.kinds
        if plan.op is not None and number in plan.op.may_be_infinite(plan.attrs):
            kinds = Kinds(nan=kinds.nan, inf=False)
        what = "the result" if len(plan.outputs) == 1 else f"result {number}"
        self.hunt.judge(_computed(kinds, plan, what, number, data, inputs))

    def _judge_write(
        self,
        plan: Plan,
        number: int,
        outputs: Tensors,
        before: list[Tensor[Any]],
        inputs: Tensors,
    ) -> None:
        """As `Hunt.judge`, with the targets as they were before; writes again what may pass."""
        written = [_copy(one) for one in outputs]
        _write(outputs, before)
        names = _names(plan, inputs)
        target = outputs[number]
        own = [name for name, one in zip(names, inputs, strict=True) if one.data is target.data]
        what = f"the new {own[0]}" if own else "what is written"
        if called := self.hunt.name_of(target):
            what += f" ({called})"
        data = written[number].data
        kinds, note = self.hunt.kinds, "nothing was written"
        self.hunt.judge(_computed(kinds, plan, what, number, data, inputs, note))
        _write(outputs, written)
        self.hunt.let_pass(target)


def _copy(tensor: Tensor[Any]) -> Tensor[Any]:
    copied: Tensor[Any] = new_tensor(find_plan("copy", tensor).run(tensor.data), tensor.spec)
    return copied


def _write(targets: Tensors, values: list[Tensor[Any]]) -> None:
    for target, value in zip(targets, values, strict=True):
        find_plan("copy", value).into([target.data], [value.data])


def _computed(
    kinds: Kinds,
    plan: Plan,
    what: str,
    number: int,
    data: Data,
    inputs: Tensors,
    note: str = "",
) -> Suspect:
    """A result of an op."""
    result: Tensor[Any] = new_tensor(data, plan.outputs[number])
    operands = tuple(map(Operand, _names(plan, inputs), inputs))
    is_aligned = isinstance(plan.kernel(), Elementwise)
    place = call_site()
    return Suspect(kinds, plan.name, what, number, result, operands, is_aligned, None, place, note)


def _names(plan: Plan, inputs: Tensors) -> list[str]:
    kernel = plan.kernel()
    if isinstance(kernel, Elementwise):
        return list(kernel.expression.parameters)
    return [f"input {number}" for number in range(len(inputs))]


def _derived(
    kinds: Kinds,
    node: Node,
    record: Record,
    number: int,
    result: Tensor[Any],
    grads: tuple[Tensor[Any] | None, ...],
) -> Suspect:
    """A gradient that a record's vjp computed from those that came in and from what it saved."""
    operands = [
        Operand("grad" if len(grads) == 1 else f"grad of result {place}", grad)
        for place, grad in enumerate(grads)
        if grad is not None
    ]
    for field, saved in record.saved():
        whole = saved if saved.output is None else saved.on_node(node)
        operands.append(Operand(field, whole.tensor()))
    is_aligned = (
        isinstance(node.plan, Plan)
        and isinstance(node.plan.kernel(), Elementwise)
        and all(one.tensor.shape in ((), result.shape) for one in operands)
    )
    what = f"the gradient of input {number}"
    place = call_site()
    return Suspect(kinds, node.op, what, number, result, tuple(operands), is_aligned, node, place)
