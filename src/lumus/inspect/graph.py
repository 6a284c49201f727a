"""The recorded graph as readable text, as plain data and as a drawing. Reads only.

Changes nothing.
"""

from __future__ import annotations

from typing import Any, Literal

from lumus.core.composite import composite
from lumus.core.frozen import frozen
from lumus.core.kinds import A_TENSOR
from lumus.core.record import Cut, Node, Record, Saved, why_not_reached
from lumus.core.site import describe, source_line
from lumus.core.tensor import Tensor

SavedState = Literal["unchanged", "overwritten", "written elsewhere", "released"]


@frozen
class SavedValue:
    """A value that a node keeps for backward.

    `state`: unchanged since it was saved; overwritten (backward would raise); written elsewhere
    (other elements of the same memory changed, which does no harm).
    """

    field: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    state: SavedState


@frozen
class GraphNode:
    """One op of the graph, as plain data. `inputs` are numbers of nodes; None needs no gradient."""

    number: int
    op: str
    attrs: tuple[tuple[str, str], ...]
    inputs: tuple[int | None, ...]
    shape: tuple[int, ...]
    dtype: str
    saved: tuple[SavedValue, ...]
    released: bool
    site: str
    source: str
    cuts: tuple[str, ...]

    def __str__(self) -> str:
        inputs = ["·" if one is None else f"%{one}" for one in self.inputs]
        attrs = [f"{name}={value}" for name, value in self.attrs]
        head = "leaf" if self.op == "leaf" else f"{self.op}({', '.join(inputs + attrs)})"
        text = f"%{self.number} = {head} -> {self.dtype}{list(self.shape)}"
        if self.released:
            text += "  released"
        elif self.saved:
            text += "  saves " + ", ".join(map(_saved_text, self.saved))
        if self.cuts:
            text += "  cut: " + "; ".join(self.cuts)
        return f"{text}  # {self.site}"


def _saved_text(saved: SavedValue) -> str:
    return f"{saved.field}: {saved.dtype}{list(saved.shape)} {saved.nbytes} B {saved.state}"


class Graph:
    """What was recorded on the way to one tensor: `nodes` in the order of computation, the last its
    own.

    `str(graph)` is one line a node. The nodes are plain data that can be pickled.
    """

    def __init__(self, root: Node | None, name: str, cut: Cut | None) -> None:
        self._root = root
        self._cut = cut
        self._name = name
        self._order = [] if root is None else computation_order(root)
        numbers = {node: number for number, node in enumerate(self._order)}
        self.nodes: tuple[GraphNode, ...] = tuple(
            _plain(node, number, numbers) for number, node in enumerate(self._order)
        )

    @property
    def saved_bytes(self) -> int:
        """Bytes of all saved values, memory that several nodes share counted once."""
        seen: dict[int, int] = {}
        for node in self._order:
            for _, saved in _record_saved(node):
                place = saved.data.storage_id
                seen[place] = max(seen.get(place, 0), saved.nbytes)
        return sum(seen.values())

    def __str__(self) -> str:
        if self._root is None:
            reason = "no op that made it was given a tensor that requires grad"
            if self._cut is not None:
                reason = f"it comes from a value {self._cut}"
            return f"no graph: {reason}"
        count = len(self.nodes)
        head = (
            f"graph of {count} {'node' if count == 1 else 'nodes'}, {self.saved_bytes} bytes saved"
        )
        return "\n".join([head, *map(str, self.nodes)])

    def __repr__(self) -> str:
        return str(self)

    def __len__(self) -> int:
        return len(self.nodes)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_PlainGraph, (self.nodes, str(self)))

    def to_dot(self) -> str:
        """The graph in Graphviz's language, for ``dot -Tsvg``.

        Leaves are boxes, arrows point to results.
        """
        lines = ["digraph lumus {", "  rankdir=TB;", '  node [fontname="monospace"];']
        for node in self.nodes:
            shape = "box" if node.op == "leaf" else "ellipse"
            label = f"{node.op}\\n{node.dtype}{list(node.shape)}"
            tip = node.site.replace("\\", "\\\\").replace('"', '\\"')
            lines.append(f'  n{node.number} [shape={shape}, label="{label}", tooltip="{tip}"];')
            lines.extend(
                f"  n{source} -> n{node.number};" for source in node.inputs if source is not None
            )
        return "\n".join([*lines, "}"])

    def why(self, tensor: Tensor[Any]) -> str:
        """How `tensor` leads to the graph's root, node by node; or why it does not."""
        if tensor.dtype.kind != "float":
            return f"{A_TENSOR[tensor.dtype.kind]} ({tensor.dtype.name}) has no gradients"
        if self._root is None:
            return str(self)
        if tensor.node is None:
            if tensor.cut is not None:
                return f"the tensor is not on a graph, it comes from a value {tensor.cut}"
            return "the tensor never required grad"
        numbers = {node: number for number, node in enumerate(self._order)}
        if tensor.node in numbers:
            path = _path(self._order, tensor.node)
            return "\n".join(
                ["it leads to the result:", *(str(self.nodes[numbers[n]]) for n in path)]
            )
        cuts = {id(cut): cut for node in self._order for cut in node.cuts}
        return why_not_reached(tensor.node, cuts.values(), self._name)


class _PlainGraph:
    """A graph after pickling: its nodes and text, without the values."""

    def __init__(self, nodes: tuple[GraphNode, ...], text: str) -> None:
        self.nodes = nodes
        self._text = text

    def __str__(self) -> str:
        return self._text

    def __len__(self) -> int:
        return len(self.nodes)


@composite("graph")
def graph(tensor: Tensor[Any]) -> Graph:
    """See `Tensor.graph`."""
    name = (
        "the result"
        if tensor.node is None
        else f"the {tensor.node.op} at {describe(tensor.node.site)}"
    )
    return Graph(tensor.node, name, tensor.cut)


def computation_order(root: Node) -> list[Node]:
    """All nodes, inputs before what uses them; iterative, since graphs are deep."""
    order: list[Node] = []
    seen = {root}
    pending = [(root, iter(root.edges))]
    while pending:
        node, edges = pending[-1]
        for source, _ in edges:
            if source not in seen:
                seen.add(source)
                pending.append((source, iter(source.edges)))
                break
        else:
            order.append(node)
            pending.pop()
    return order


def _path(order: list[Node], start: Node) -> list[Node]:
    """The nodes from `start` to the root along one shortest chain of uses."""
    towards: dict[Node, Node | None] = {order[-1]: None}
    queue = [order[-1]]
    for node in queue:
        if node is start:
            break
        for source, _ in node.edges:
            if source not in towards:
                towards[source] = node
                queue.append(source)
    path: list[Node] = []
    step: Node | None = start
    while step is not None:
        path.append(step)
        step = towards[step]
    return path


def _plain(node: Node, number: int, numbers: dict[Node, int]) -> GraphNode:
    spec = node.specs[0]
    return GraphNode(
        number=number,
        op=node.op,
        attrs=_attrs(node.attrs),
        inputs=tuple(
            numbers[origin[0]] if isinstance(origin, tuple) else None for origin in node.origins
        ),
        shape=spec.shape,
        dtype=spec.dtype.name,
        saved=tuple(_saved(*one) for one in _record_saved(node)),
        released=node.consumed_at is not None,
        site=describe(node.site),
        source=source_line(node.site),
        # A mask has no gradient to lose: that it comes from a comparison would only be noise.
        cuts=tuple(str(cut) for cut in node.cuts if cut.reason != "op"),
    )


def _record_saved(node: Node) -> list[tuple[str, Saved[Any]]]:
    return node.record.saved() if isinstance(node.record, Record) else []


def _attrs(attrs: Any) -> tuple[tuple[str, str], ...]:
    names: tuple[str, ...] = () if attrs is None else attrs.field_names
    return tuple((name, str(getattr(attrs, name))) for name in names)


def _saved(field: str, saved: Saved[Any]) -> SavedValue:
    state: SavedState = "unchanged"
    if saved.data.version != saved.version:
        state = "written elsewhere" if saved.overwritten_by() is None else "overwritten"
    return SavedValue(field, saved.spec.shape, saved.spec.dtype.name, saved.nbytes, state)
