"""Running a function once to learn its program, and what it returns."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lumus.autograd.backward import compiled_cut
from lumus.autograd.gradients import GradStore
from lumus.compile.assigned import Assignment, holds_traced, refused
from lumus.compile.call import Call
from lumus.compile.outside import Outside
from lumus.compile.surroundings import Surroundings
from lumus.core.construct import new_tensor
from lumus.core.mode import MODE, Mode
from lumus.core.record import Cut, Leaf
from lumus.core.tensor import Tensor
from lumus.core.tree import (
    CONTAINERS,
    LEAF,
    Branch,
    StaticLeaf,
    Tree,
    put_together,
    take_apart,
)
from lumus.core.watch import Snapshot
from lumus.errors import TraceError
from lumus.trace.program import Program
from lumus.trace.tracer import Guard, ProgramTracer
from lumus.trace.value import Value


def trace(call: Call, name: str, *, is_whole: bool = False) -> Traced:
    """Traces a call. If `is_whole`, tensors from outside that are returned are outputs, too."""
    tracer = ProgramTracer()
    try:
        return _traced(tracer, call, name, is_whole)
    except BaseException:
        tracer.fail()
        raise


def _traced(tracer: ProgramTracer, call: Call, name: str, is_whole: bool) -> Traced:
    surroundings = Surroundings(call.function, call.statics())
    iterator = surroundings.iterator()
    if iterator is not None:
        raise TraceError(
            f"compile: {name} uses the iterator {iterator}, which would go on once, when it is "
            "traced; later calls would repeat what it gave",
            hint="take the next item outside, and pass it as an argument",
        )
    before = surroundings.before()
    proxies = [
        _proxy(tracer, name, label, tensor, node)
        for label, tensor, (_, _, node) in zip(call.labels(), call.tensors, call.kinds, strict=True)
    ]
    if call.first:  # what is given twice is one tensor, of the first of its inputs
        proxies = [proxies[at] for at in call.first]
    args, kwargs = call.with_tensors(proxies)
    containers = [*call.containers((args, kwargs)), *call.containers(call.given)]
    for label, container in containers:
        before.add_container(label, container)
    try:
        with _traced_by(tracer):
            tensors: list[Tensor[Any]] = []
            form = take_apart(call.function(*args, **kwargs), tensors)
            _check_result(name, form)
            places = {id(proxy): at for at, proxy in enumerate(proxies)}
            returned = [
                Returned(one, places, is_whole or one.data.__class__ is Value) for one in tensors
            ]
            pairs = zip(tensors, returned, strict=True)
            computed = [one for one, what in pairs if what.is_computed]
            program = tracer.program(name, computed, surroundings.labels())
            if tracer.refused is not None:  # and the function has caught that
                raise tracer.refused
    finally:
        assigned = before.put_back()
    arguments = {id(container) for _, container in containers}
    _check_assigned(name, assigned, arguments, surroundings)
    surroundings.settle(assigned)
    outside = Outside(tracer, surroundings.asked())
    takes_leaves = outside.differentiates and any(node is not None for _, _, node in call.kinds)
    return Traced(program, tracer, form, returned, surroundings, outside, assigned, takes_leaves)


def _check_assigned(
    name: str, assigned: list[Assignment], arguments: set[int], surroundings: Surroundings
) -> None:
    """Raises TraceError for what calls could not assign again."""
    for one in assigned:
        if not one.can_be_done:
            raise refused(name, one, surroundings.codes())
        if id(one.value) in arguments:
            raise TraceError(
                f"compile: {name} changes or keeps {one.what}, a container among its arguments "
                f"({one.change}), of which it is given a copy",
                hint="give a copy that nobody else uses, and return what is to be known of it",
            )


def _check_result(name: str, form: Tree) -> None:
    """Raises TraceError for an object that holds a tensor, which no call could make anew."""
    pending = [form]
    for one in pending:
        if isinstance(one, Branch):
            pending.extend(one.items)
        elif isinstance(one, StaticLeaf) and holds_traced(one.value):
            raise TraceError(
                f"compile: {name} returns an object of {type(one.value).__name__} that holds a "
                "tensor, which later calls would not make anew",
                hint="return tensors in a list, tuple, namedtuple or dict, and make it outside",
            )


@contextmanager
def _traced_by(tracer: ProgramTracer) -> Generator[None]:
    """What is inside is traced."""
    mode = MODE.get()
    token = MODE.set(Mode(mode.records, mode.notes_cuts, tracer, mode))
    try:
        yield
    finally:
        MODE.reset(token)
        tracer.close()


class Traced:
    """A program with the form of what the function returned."""

    def __init__(
        self,
        program: Program,
        tracer: ProgramTracer,
        form: Tree,
        returned: list[Returned],
        surroundings: Surroundings,
        outside: Outside,
        assigned: list[Assignment],
        takes_leaves: bool,
    ) -> None:
        self.program = program
        self.guards: list[Guard] = tracer.guards
        self.abandon = tracer.fail  # takes back what the library made, such as an optimiser's state
        self.form = form
        self.returned = returned
        self.surroundings = surroundings
        self.outside = outside
        is_one = form is LEAF and returned[0].is_computed
        self.only = (returned[0].spec, returned[0].cut) if is_one else None
        self.assigned = assigned  # in Python, to be done at each call
        self._takes_leaves = takes_leaves
        self._seen: Snapshot | None = None  # taken when all was looked at

    @property
    def seen(self) -> Snapshot | None:
        """The places that must stand for it to serve every call of its kind; None: ask `serves`."""
        return None if self._takes_leaves or self.assigned else self._seen

    def serves(self, tensors: Sequence[Tensor[Any]]) -> bool:
        """Whether the program holds for a call of its kind with these tensors."""
        if self.difference() is not None:
            return False
        return not self._takes_leaves or not self.outside.has_joint_leaf(tensors)

    def difference(self) -> str | None:
        """What has changed in Python since the trace; None if nothing that matters."""
        seen = self._seen
        if seen is not None and seen.holds():
            return None
        seen = self._snapshot()  # before the look, so that no later change can be missed
        found = self._close_difference()
        if found is None:
            self._seen = seen
        return found

    def _snapshot(self) -> Snapshot:
        """The places on which the answer depends."""
        snapshot = Snapshot()
        for guard in self.guards:
            guard.watch(snapshot)
        self.outside.watch(snapshot)
        self.surroundings.watch(snapshot)
        return snapshot

    def _close_difference(self) -> str | None:
        """The same, with a look at everything."""
        for guard in self.guards:
            now = guard.read()
            if now != guard.value:
                return guard.told(now)
        return self.outside.difference() or self.surroundings.difference()

    def results(self, tensors: Sequence[Tensor[Any]], data: list[Any]) -> Any:
        """What the function returns, made of the tensors of the call and what the plan computed."""
        arrays = iter(data)
        made = iter([result.tensor(tensors, arrays) for result in self.returned])
        return put_together(self.form, made.__next__)


class Returned:
    """One tensor that the function returned: an argument, one from outside, or a computed one."""

    __slots__ = ("cut", "outside", "place", "spec")

    def __init__(self, tensor: Tensor[Any], arguments: dict[int, int], traced: bool) -> None:
        self.spec = tensor.spec
        self.place = arguments.get(id(tensor))
        self.outside = tensor if self.place is None and not traced else None
        self.cut = _cut_of(tensor) if traced else None

    @property
    def is_computed(self) -> bool:
        """Whether the program computes it."""
        return self.place is None and self.outside is None

    def tensor(self, tensors: Sequence[Tensor[Any]], arrays: Iterator[Any]) -> Tensor[Any]:
        """The tensor for a call with these arguments, its data the next array if computed."""
        if self.place is not None:
            return tensors[self.place]
        if self.outside is not None:
            return self.outside
        made: Tensor[Any] = new_tensor(next(arrays), self.spec, self.cut)
        return made


def _cut_of(tensor: Tensor[Any]) -> Cut | None:
    """Why a result is not on a graph: because it was cut off inside, or by `compile`."""
    if tensor.origin.__class__ is not tuple:
        return tensor.cut
    node = tensor.node
    assert node is not None
    return compiled_cut(node, node.op)


def _proxy(
    tracer: ProgramTracer, name: str, label: str, tensor: Tensor[Any], node: type[Any] | None
) -> Tensor[Any]:
    """The tensor that stands for an argument while the function is traced."""
    if node is not None and node is not Leaf:
        raise TraceError(
            f"compile: argument {label} of {name} was computed in a recorded graph, which a "
            "compiled function does not go on with",
            hint="give .detach() of it, or compute it inside",
        )
    value = tracer.argument(tensor.spec, label, tuple(tensor.data.strides))
    proxy: Tensor[Any] = new_tensor(value, tensor.spec)
    return proxy if node is None else proxy.requires_grad_()


def _pairs_of(store: GradStore) -> list[Tensor[Any]]:
    return [tensor for pair in store.pairs() for tensor in pair]


def _store_of(items: list[Any]) -> GradStore:
    return GradStore.of(zip(items[::2], items[1::2], strict=True))


CONTAINERS[GradStore] = (_pairs_of, _store_of)
