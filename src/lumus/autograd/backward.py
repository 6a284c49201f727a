"""The backward engine: an iterative sweep over the recorded graph, from a tensor to its leaves.

Nodes are visited in topological order (each once all its consumers are done), gradients accumulate
in that fixed order, saved values are checked against later writes before they are used and released
as the sweep passes. Nothing recurses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast
from weakref import ref

from lumus.autograd.gradients import GradStore
from lumus.autograd.twice import refuse_detach
from lumus.core.argument import flag
from lumus.core.composite import composite
from lumus.core.construct import made_tensor
from lumus.core.dispatch import apply
from lumus.core.dtypes import float32, is_half
from lumus.core.kinds import A_TENSOR, Float
from lumus.core.mode import MODE
from lumus.core.record import Consumed, Cut, Edge, Leaf, Node, Record, Saved, leaves_near
from lumus.core.site import Site, call_site, describe, described_line
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.core.write import apply_into
from lumus.errors import (
    ArgumentError,
    DeviceError,
    DTypeError,
    GradientError,
    GraphFreedError,
    LumusError,
    SavedTensorMutatedError,
    ShapeError,
    TraceError,
)


@composite("backward")
def backward(
    root: Tensor[Float],
    grad: Tensor[Float] | None = None,
    *,
    create_graph: bool = False,
    retain_graph: bool = False,
    into: GradStore | None = None,
) -> GradStore:
    """See `Tensor.backward`."""
    if into is not None and not isinstance(into, GradStore):
        raise ArgumentError(f"backward: into must be a GradStore, got {type(into).__name__}")
    create_graph = flag("backward", "create_graph", create_graph)
    retain_graph = flag("backward", "retain_graph", retain_graph)
    seed = seed_of(root, grad)
    assert isinstance(root.origin, tuple)
    node, output = root.origin
    sweep = Sweep(node, create_graph=create_graph, retain_graph=retain_graph)
    mode = MODE.get()
    token = MODE.set(mode.with_(records=create_graph, notes_cuts=False))
    try:
        sweep.run(output, seed)
        entries = sweep.gradients(seed)
        if into is not None:
            _accumulate(entries, into)
    finally:
        MODE.reset(token)
    store = GradStore() if into is None else into
    store._entries.update(entries)
    store._cuts = (*store._cuts, *sweep.cuts)
    store._root = (node.op, node.site)
    return store


def _accumulate(entries: dict[Node, tuple[Tensor[Float], Tensor[Float]]], store: GradStore) -> None:
    for node, (tensor, grad) in entries.items():
        if node in store._entries:
            entries[node] = (tensor, store._entries[node][1] + grad)


def seed_of(root: Tensor[Float], grad: Tensor[Float] | None) -> Tensor[Float]:
    """The gradient of the root itself, checked."""
    if root.spec.dtype.kind != "float":
        kind = A_TENSOR[root.spec.dtype.kind]
        raise GradientError(f"backward: {kind} ({root.spec.dtype.name}) has no gradients")
    if root.node is None:
        raise _off_graph(root)
    if grad is None:
        if root.spec.size != 1:
            raise GradientError(
                f"backward: the tensor has shape {root.spec.shape}, so its own gradient must "
                "be given",
                hint="call .sum() or .mean() first, or pass grad= of that shape",
            )
        device = root.spec.device
        return cast("Tensor[Float]", made_tensor(device.full(root.spec, 1.0), root.spec))
    if not isinstance(grad, Tensor):
        raise ArgumentError(f"backward: grad must be a tensor, got {type(grad).__name__}")
    if grad.spec is not root.spec:
        raise _wrong_grad(root.spec, grad.spec)
    return grad


def _off_graph(root: Tensor[Any]) -> GradientError:
    why = "no op that made it was given a tensor that requires grad"
    hint: str | None = "create the tensors to differentiate with requires_grad=True"
    if root.cut is not None:
        why = f"it comes from a value {root.cut}"
        hint = {
            "detach": "call backward on what was not detached",
            "no_grad": "compute it outside lumus.no_grad()",
            "op": None,
            "compile": "call backward inside the compiled function, and return what it gives",
        }[root.cut.reason]
    return GradientError(
        f"backward: the tensor {root.spec!r} is not on a graph: {why}", hint=hint, cut=root.cut
    )


def _wrong_grad(root: Spec, grad: Spec) -> LumusError:
    if grad.shape != root.shape:
        return ShapeError(f"backward: grad has shape {grad.shape}, the tensor {root.shape}")
    if grad.dtype is not root.dtype:
        return DTypeError(
            f"backward: grad is {grad.dtype.name}, the tensor {root.dtype.name}",
            hint=f"convert it with .astype(lumus.{root.dtype.name})",
        )
    return DeviceError(f"backward: grad is on device {grad.device}, the tensor on {root.device}")


class Sweep:
    """One backward pass over the graph of `root`.

    It ends at leaves; with `targets` it ends at those nodes instead, and visits (and releases) only
    what leads to them.
    """

    def __init__(
        self,
        root: Node,
        *,
        create_graph: bool,
        retain_graph: bool,
        targets: Sequence[Node] = (),
    ) -> None:
        self.root = root
        self.site = call_site()
        self.create_graph = create_graph
        self.retain_graph = retain_graph or create_graph
        self.targets = frozenset(targets)
        self.cuts: tuple[Cut, ...] = ()
        self.leaves: list[Leaf] = []
        # The gradient of each output (of the first by its node alone): a sum that is complete when
        # the node's turn comes.
        self.pending: dict[Node | Edge, Tensor[Float]] = {}
        self.owned: set[int] = set()
        self.interpreter = MODE.get().interpreter

    def run(self, index: int, seed: Tensor[Float]) -> None:
        """Sweeps from output `index` of the root, whose gradient is `seed`.

        The loop is written out, and reads what it needs into locals: it is most of the cost of
        backward for small tensors.
        """
        consumers = self._count_consumers()
        pending, targets, create_graph = self.pending, self.targets, self.create_graph
        released = None if self.retain_graph else Consumed(self.site)
        pending[self.root if index == 0 else (self.root, index)] = seed
        ready = [self.root] if self.root in consumers else []
        while ready:
            node = ready.pop()
            if targets and node in targets:
                continue
            record = node.record
            if record is None:
                self.leaves.append(cast("Leaf", node))
                continue
            assert not isinstance(record, Consumed)  # counted, so not released
            results = self._vjp(node, record, create_graph)
            if released is not None:
                node.record = released
            for place, origin in enumerate(node.origins):
                if isinstance(origin, tuple):
                    source, output = origin
                    if source in consumers:
                        grad = None if results is None else results[place]
                        if grad is not None:
                            assert grad.spec is source.plan.outputs[output], (node, grad.spec)
                            key = source if output == 0 else (source, output)
                            if key in pending:
                                self._add(key, grad)
                            else:
                                pending[key] = grad
                        left = consumers[source] = consumers[source] - 1
                        if not left:
                            ready.append(source)

    def _vjp(
        self, node: Node, record: Record, create_graph: bool
    ) -> tuple[Tensor[Float] | None, ...] | None:
        """The gradients of a node's inputs; None when none has arrived at it."""
        for name in record.saved_fields:
            saved = getattr(record, name)
            if saved.__class__ is Saved:
                if saved.data.version != saved.version:
                    _check_unchanged(node, record, saved)
            elif saved is not None:
                for one in saved:
                    _check_unchanged(node, record, one)
        outputs = node.plan.outputs
        spec = outputs[0]
        if len(outputs) > 1:
            return self._vjp_of_several(node, record, create_graph)
        grad = self.pending.pop(node, None)
        if grad is None:
            return None
        if self.owned or grad.spec is not spec:
            grad = self._rounded(grad, spec)
        bound = record.bound_to(node) if create_graph else record
        if self.interpreter is None:
            return bound.vjp(grad)
        return self.interpreter.vjp(node, bound, (grad,))

    def _vjp_of_several(
        self, node: Node, record: Record, create_graph: bool
    ) -> tuple[Tensor[Float] | None, ...] | None:
        """As `_vjp`, for a node with several outputs: each has a gradient of its own, or None."""
        grads: list[Any] = [self.gradient_at(node, index) for index in range(len(node.specs))]
        for index in range(len(grads)):
            self.pending.pop(node if index == 0 else (node, index), None)
        if all(grad is None for grad in grads):
            return None
        bound = record.bound_to(node) if create_graph else record
        if self.interpreter is None:
            return bound.vjp(*grads)
        return self.interpreter.vjp(node, bound, tuple(grads))

    def _count_consumers(self) -> dict[Node, int]:
        """How many edges lead to each node to visit; raises when one of them has been released."""
        counts = {self.root: 0}
        order = [self.root]
        cuts: dict[int, Cut] = {}
        targets = self.targets
        tracer = MODE.get().tracer
        for node in order:
            if targets and node in targets:
                continue
            if node.record.__class__ is Consumed:
                raise _freed(node)
            if tracer is not None and node.record is not None and not tracer.has_recorded(node):
                raise _recorded_outside(node)
            for origin in node.origins:
                if isinstance(origin, tuple):
                    source = origin[0]
                    if source in counts:
                        counts[source] += 1
                    else:
                        counts[source] = 1
                        order.append(source)
                elif origin is not None:
                    cuts[id(origin)] = origin
        self.cuts = tuple(cuts.values())
        return self._leading(order) if targets else counts

    def _leading(self, order: list[Node]) -> dict[Node, int]:
        """The counts of the nodes that lead to a target, by edges between them alone."""
        consumers: dict[Node, list[Node]] = {}
        for node in order:
            if node not in self.targets:
                for source, _ in node.edges:
                    consumers.setdefault(source, []).append(node)
        leading = [node for node in order if node in self.targets]
        counts = dict.fromkeys(leading, 0)
        for node in leading:
            for consumer in consumers.get(node, ()):
                if consumer not in counts:
                    counts[consumer] = 0
                    leading.append(consumer)
        for source, users in consumers.items():
            if source in counts:
                counts[source] = sum(1 for user in users if user in counts)
        return counts

    def _add(self, key: Node | Edge, grad: Tensor[Float]) -> None:
        """Adds a contribution. Half types add up in float32 and are rounded once, when complete."""
        total = self.pending[key]
        if id(total) in self.owned and not self.create_graph:
            addend = grad if grad.spec is total.spec else grad.astype(total.dtype)
            apply_into("add", total, total, addend, functional="+", spelled="backward")
            return
        if is_half(grad.dtype):
            total, grad = total.astype(float32), grad.astype(float32)
        self.pending[key] = total = total + grad
        self.owned.add(id(total))

    def _rounded(self, grad: Tensor[Float], spec: Spec) -> Tensor[Float]:
        self.owned.discard(id(grad))
        return grad if grad.spec is spec else grad.astype(spec.dtype)

    def gradient_at(self, node: Node, index: int) -> Tensor[Float] | None:
        """The complete gradient of a target's output; None when the root does not depend on it."""
        grad = self.pending.get(node if index == 0 else (node, index))
        return None if grad is None else self._rounded(grad, node.specs[index])

    def gradients(self, seed: Tensor[Float]) -> dict[Node, tuple[Tensor[Float], Tensor[Float]]]:
        """The leaves' gradients, each with memory of its own."""
        entries: dict[Node, tuple[Tensor[Float], Tensor[Float]]] = {}
        taken = {seed.data.storage_id}
        for leaf in self.leaves:
            tensor, found = leaf.tensor(), self.pending.pop(leaf, None)
            if tensor is None or found is None:
                continue
            grad = self._rounded(found, leaf.specs[0])
            data = grad.data
            if data.storage_id in taken or not data.is_whole or data.use_count > 1:
                grad = apply("copy", grad)
            taken.add(grad.data.storage_id)
            entries[leaf] = (tensor, grad)
        return entries


def _check_unchanged(node: Node, record: Record, saved: Saved[Any]) -> None:
    written = saved.overwritten_by()
    if written is not None:
        field = next(name for name, one in record.saved() if one is saved)
        raise _mutated(node, field, saved.spec, written)


def _freed(node: Node) -> GraphFreedError:
    return GraphFreedError(
        f"backward: what {node.op} at {describe(node.site)} had recorded was released by the "
        f"backward at {describe(node.consumed_at)}",
        hint="pass retain_graph=True to that backward, or compute the result again",
        op=node.op,
        site=node.site,
    )


def _recorded_outside(node: Node) -> TraceError:
    return TraceError(
        f"compile: backward in a compiled function leads to {node.op} at {describe(node.site)}, "
        "which was recorded outside of it",
        hint="compute it inside, or give the function .detach() of it",
        site=node.site,
    )


def _mutated(
    node: Node, field: str, spec: Any, written: tuple[str, Site | None]
) -> SavedTensorMutatedError:
    op, site = written
    return SavedTensorMutatedError(
        f"backward: a value that {node.op} saved ({field}: {spec!r}) was overwritten before "
        "its use\n"
        f"  saved by       {node.op} at {described_line(node.site)}\n"
        f"  overwritten by {op} at {described_line(site)}",
        hint="call backward before the write, or compute with a copy: .copy()",
        op=node.op,
        field=field,
        site=node.site,
        written_by=op,
        written_at=site,
    )


@composite("cut")
def cut(tensor: Tensor[Any]) -> Cut:
    """The note that a detached tensor keeps of where it left its graph."""
    origin = tensor.origin
    if isinstance(origin, Cut):
        if origin.reason != "compile":
            return origin
        # From here on it is a constant on purpose.
        return Cut("detach", "detach", call_site(), origin.source, leaves=origin.leaves)
    refuse_detach()
    node = tensor.node
    assert node is not None
    return Cut("detach", "detach", call_site(), ref(node), leaves=leaves_near(node))


def compiled_cut(node: Node, name: str) -> Cut:
    """The note of what a compiled function `name` returned, which would else come from `node`."""
    return Cut("compile", name, call_site(), ref(node), leaves=leaves_near(node))
