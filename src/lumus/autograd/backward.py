"""The backward engine: an iterative sweep over the recorded graph, from a tensor to its leaves.

Nodes are visited in topological order (each once all its consumers are done), gradients accumulate in
that fixed order, saved values are checked against later writes before they are used and released as
the sweep passes. Nothing recurses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast
from weakref import ref

from lumus.autograd.gradients import GradStore
from lumus.core.construct import new_tensor
from lumus.core.dispatch import apply, apply_into, composite
from lumus.core.dtypes import float32, is_half
from lumus.core.kinds import TITLE, Float
from lumus.core.mode import MODE
from lumus.core.record import Cut, Leaf, Node, Saved
from lumus.core.site import Site, call_site, describe, source_line
from lumus.core.tensor import Tensor
from lumus.errors import GradientError, GraphFreedError, SavedTensorMutatedError, ShapeError


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
    seed = seed_of(root, grad)
    assert root.node is not None
    sweep = Sweep(root.node, create_graph=create_graph, retain_graph=retain_graph)
    mode = MODE.get()
    token = MODE.set(mode.with_(records=create_graph, notes_cuts=False))
    try:
        sweep.run(root.index, seed)
        entries = sweep.gradients(seed)
        if into is not None:
            _accumulate(entries, into)
    finally:
        MODE.reset(token)
    store = GradStore() if into is None else into
    store._entries.update(entries)
    store._cuts = (*store._cuts, *sweep.cuts)
    store._root = f"the {root.node.op} of {describe(root.node.site)}"
    return store


def _accumulate(entries: dict[Node, tuple[Tensor[Float], Tensor[Float]]], store: GradStore) -> None:
    for node, (tensor, grad) in entries.items():
        if node in store._entries:
            entries[node] = (tensor, store._entries[node][1] + grad)


def seed_of(root: Tensor[Float], grad: Tensor[Float] | None) -> Tensor[Float]:
    """The gradient of the root itself, checked."""
    if root.spec.dtype.kind != "float":
        raise GradientError(
            f"backward: a {TITLE[root.spec.dtype.kind]} tensor ({root.spec.dtype.name}) has no gradients"
        )
    if root.node is None:
        why = "no op that made it was given a tensor that requires grad"
        if root.cut is not None:
            past = "detached" if root.cut.reason == "detach" else "made under no_grad"
            why = f"it was {past} at {describe(root.cut.site)}"
        raise GradientError(
            f"backward: the tensor {root.spec!r} is not on a graph: {why}",
            hint="create the tensors to differentiate with requires_grad=True",
        )
    if grad is None:
        if root.spec.size != 1:
            raise GradientError(
                f"backward: the tensor has shape {root.spec.shape}, so its own gradient must be given",
                hint="call .sum() or .mean() first, or pass grad= of that shape",
            )
        device = root.spec.device
        return cast("Tensor[Float]", new_tensor(device.full(root.spec, 1.0), root.spec))
    if grad.spec is not root.spec:
        raise ShapeError(
            f"backward: grad is {grad.spec!r} on {grad.spec.device}, the tensor "
            f"{root.spec!r} on {root.spec.device}"
        )
    return grad


class Sweep:
    """One backward pass over the graph of `root`.

    It ends at leaves; with `targets` it ends at those nodes instead, and visits (and releases) only what
    leads to them.
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
        # For each node the gradient of each output: a sum that is not complete until its turn comes.
        self.pending: dict[Node, list[Tensor[Float] | None]] = {}
        self.owned: set[int] = set()

    def run(self, index: int, seed: Tensor[Float]) -> None:
        """Sweeps from output `index` of the root, whose gradient is `seed`."""
        consumers = self._count_consumers()
        pending = self.pending
        self._add(self.root, index, seed)
        ready = [self.root] if self.root in consumers else []
        while ready:
            node = ready.pop()
            if node in self.targets:
                continue
            if node.__class__ is Leaf:
                self.leaves.append(cast("Leaf", node))
                continue
            grads = self._gradients_of_inputs(node)
            for edge, grad in zip(node.edges, grads, strict=True):
                if edge is None or edge[0] not in consumers:
                    continue
                source, place = edge
                if grad is not None:
                    outputs = source.plan.outputs
                    assert grad.spec is outputs[place], (
                        f"vjp of {node.op} gave {grad.spec!r} for {outputs[place]!r}"
                    )
                    if source in pending:
                        self._add(source, place, grad)
                    else:
                        pending[source] = slots = [None] * len(outputs)
                        slots[place] = grad
                left = consumers[source] = consumers[source] - 1
                if not left:
                    ready.append(source)

    def _count_consumers(self) -> dict[Node, int]:
        """How many edges lead to each node; raises when a node to visit has been released."""
        nodes = self._nodes()
        counts = dict.fromkeys(nodes, 0)
        cuts: dict[int, Cut] = {}
        for node in nodes:
            if node in self.targets:
                continue
            if node.consumed_at is not None:
                raise _freed(node)
            for cut in node.cuts:
                cuts[id(cut)] = cut
            for edge in node.edges:
                if edge is not None and edge[0] in counts:
                    counts[edge[0]] += 1
        self.cuts = tuple(cuts.values())
        return counts

    def _nodes(self) -> list[Node]:
        """The nodes to visit, in order of discovery."""
        order, seen = [self.root], {self.root}
        consumers: dict[Node, list[Node]] = {}
        for node in order:
            if node in self.targets:
                continue
            for edge in node.edges:
                if edge is None:
                    continue
                if self.targets:
                    consumers.setdefault(edge[0], []).append(node)
                if edge[0] not in seen:
                    seen.add(edge[0])
                    order.append(edge[0])
        if not self.targets:
            return order
        leading = [node for node in order if node in self.targets]
        reached = set(leading)
        for node in leading:
            for consumer in consumers.get(node, ()):
                if consumer not in reached:
                    reached.add(consumer)
                    leading.append(consumer)
        return [node for node in order if node in reached]

    def _gradients_of_inputs(self, node: Node) -> tuple[Tensor[Float] | None, ...]:
        grads = self.pending.pop(node, None)
        record = node.record
        assert record is not None
        if grads is None:  # every path to it gave no gradient
            return (None,) * len(node.edges)
        for name in record.saved_fields:
            saved = getattr(record, name)
            if saved.__class__ is Saved:
                if saved.data.version != saved.version:
                    _check_unchanged(node, name, saved)
            elif saved is not None:
                for position, one in enumerate(saved):
                    _check_unchanged(node, f"{name}[{position}]", one)
        if self.create_graph:
            record = record.bound_to(node)
        grad = grads[0]
        if grad is None or grad.spec is not node.plan.outputs[0] or self.owned:
            grad = self._rounded(grad, node.specs[0])
        results = record.vjp(grad)
        if not self.retain_graph:
            node.record = None
            node.consumed_at = self.site
        return results

    def _add(self, node: Node, index: int, grad: Tensor[Float]) -> None:
        """Adds a contribution. Half types add up in float32 and are rounded once, when complete."""
        slots = self.pending.get(node)
        if slots is None:
            slots = self.pending[node] = [None] * len(node.specs)
        total = slots[index]
        if total is None:
            slots[index] = grad
        elif id(total) in self.owned and not self.create_graph:
            addend = grad if grad.spec is total.spec else grad.astype(total.dtype)
            apply_into("add", total, total, addend, functional="+", spelled="backward")
        else:
            if is_half(grad.dtype):
                total, grad = total.astype(float32), grad.astype(float32)
            total = total + grad
            slots[index] = total
            self.owned.add(id(total))

    def _rounded(self, grad: Tensor[Float] | None, spec: Any) -> Tensor[Float]:
        assert grad is not None
        if self.owned:
            self.owned.discard(id(grad))
        return grad if grad.spec is spec else grad.astype(spec.dtype)

    def gradient_at(self, node: Node, index: int) -> Tensor[Float] | None:
        """The gradient that arrived at an output of a target."""
        grads = self.pending.get(node)
        if grads is None or grads[index] is None:
            return None
        return self._rounded(grads[index], node.specs[index])

    def gradients(self, seed: Tensor[Float]) -> dict[Node, tuple[Tensor[Float], Tensor[Float]]]:
        """The leaves' gradients, each with memory of its own."""
        entries: dict[Node, tuple[Tensor[Float], Tensor[Float]]] = {}
        taken = {seed.data.storage_id}
        for leaf in self.leaves:
            tensor, grads = leaf.tensor(), self.pending.pop(leaf, None)
            if tensor is None or grads is None or grads[0] is None:
                continue
            grad = self._rounded(grads[0], leaf.specs[0])
            data = grad.data
            if data.storage_id in taken or not data.is_whole or data.use_count > 1:
                grad = apply("copy", grad)
            taken.add(grad.data.storage_id)
            entries[leaf] = (tensor, grad)
        return entries


def _check_unchanged(node: Node, field: str, saved: Saved[Any]) -> None:
    written = saved.overwritten_by()
    if written is not None:
        raise _mutated(node, field, saved.spec, written)


def _freed(node: Node) -> GraphFreedError:
    return GraphFreedError(
        f"backward: the values saved by {node.op} (at {describe(node.site)}) were released by the "
        f"backward at {describe(node.consumed_at)}",
        hint="pass retain_graph=True to that backward, or compute the result again",
        op=node.op,
        site=node.site,
    )


def _mutated(
    node: Node, field: str, spec: Any, written: tuple[str, Site | None]
) -> SavedTensorMutatedError:
    op, site = written
    return SavedTensorMutatedError(
        f"backward: a value that {node.op} saved ({field}: {spec!r}) was overwritten before its use\n"
        f"  saved by    {node.op} at {describe(node.site)}: {source_line(node.site)}\n"
        f"  overwritten by {op} at {describe(site)}: {source_line(site)}",
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
    assert tensor.node is not None
    return Cut("detach", "detach", call_site(), ref(tensor.node))
