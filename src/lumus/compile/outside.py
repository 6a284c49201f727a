"""The tensors from outside that a traced function used, and what a program depends on of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lumus.compile.call import Call
from lumus.core.record import Leaf
from lumus.core.tensor import Tensor
from lumus.core.watch import Snapshot
from lumus.errors import TraceError
from lumus.trace.tracer import ProgramTracer


class Outside:
    """Which tensors a trace met, with where they stood on the graph when it was done.

    So for those that it may only have `asked` whether they require grad.
    """

    def __init__(self, tracer: ProgramTracer, asked: Iterable[Tensor[Any]]) -> None:
        met = {id(one): one for one in (*tracer.outside.values(), *asked)}
        self._tensors = [one for one in met.values() if one.dtype.kind == "float"]
        self._origins = [tensor.origin for tensor in self._tensors]
        self._leaves = {tensor.node for tensor in self._tensors if isinstance(tensor.node, Leaf)}
        self.differentiates = tracer.differentiates

    def watch(self, snapshot: Snapshot) -> None:
        """Adds all that `difference` looks at to a snapshot."""
        for tensor in self._tensors:
            snapshot.add_attribute(tensor, "origin")

    def difference(self) -> str | None:
        """Whether one requires grad that did not, or the other way round, in words."""
        origins = [tensor.origin for tensor in self._tensors]
        if origins == self._origins:
            return None
        for tensor, now, before in zip(self._tensors, origins, self._origins, strict=True):
            if (now.__class__ is tuple) is not (before.__class__ is tuple):
                return f"a tensor from outside, {tensor.spec!r}: requires_grad changed"
        self._origins = origins
        self._leaves = {tensor.node for tensor in self._tensors if isinstance(tensor.node, Leaf)}
        return None

    def has_joint_leaf(self, tensors: Iterable[Tensor[Any]]) -> bool:
        """Whether two of these tensors are one leaf, or one is a leaf used from outside."""
        nodes = [one.origin[0] for one in tensors if isinstance(one.origin, tuple)]
        return len(set(nodes)) < len(nodes) or not self._leaves.isdisjoint(nodes)

    def check_leaves(self, call: Call, name: str) -> None:
        """Raises TraceError for an argument whose gradient would be in two parts.

        An argument is a leaf of its own in the program, which another tensor may take in a later
        call; the gradients of one that comes in by several ways would not be added.
        """
        if not self.differentiates:
            return
        seen: set[Any] = set()
        given: set[int] = set()
        for label, tensor, (_, _, kind) in zip(
            call.labels(), call.tensors, call.kinds, strict=True
        ):
            if kind is None or id(tensor) in given:
                continue
            given.add(id(tensor))
            node = tensor.node
            if node in self._leaves or node in seen:
                where = "is used from outside, too" if node in self._leaves else "is given twice"
                raise TraceError(
                    f"compile: argument {label} of {name} {where}, so that its gradient would be "
                    "in two parts",
                    hint="use one of them in the function",
                )
            seen.add(node)
