"""find_nonfinite: the first NaN or infinity among the values that a recorded graph keeps."""

from __future__ import annotations

from typing import Any

from lumus.core.argument import check_tensors
from lumus.core.frozen import frozen
from lumus.core.record import Consumed, Leaf, Node, Record, Saved
from lumus.core.site import describe, source_line
from lumus.core.tensor import Tensor
from lumus.errors import GradientError, GraphFreedError
from lumus.inspect.graph import computation_order
from lumus.inspect.suspect import Kinds, describe_first, first_in

_ALL = Kinds(nan=True, inf=True)


@frozen
class NonFinite:
    """A value that is not finite, found in a graph: `str` tells it in words.

    `op` made it at `site` (a leaf was created there), or came upon it in an input that is on no
    graph. `field` is where it is kept, empty for a leaf or for the result itself. It is `value` at
    `index`, the first of `count`.
    """

    op: str
    field: str
    index: tuple[int, ...]
    value: float
    count: int
    site: str
    text: str

    def __str__(self) -> str:
        return self.text


def find_nonfinite(tensor: Tensor[Any]) -> NonFinite | None:
    """The first value that is not finite on the way to `tensor`, in the order of computation.

    It looks at the leaves and at what the graph keeps for backward, after the fact and without
    computing anything again; call it before `backward`, which releases that. Many ops keep nothing
    (a sum, an addition): so it may name a later op than the one that made the value, and None does
    not promise that all was finite. `check_finite` sees every value.

    **Raises.** GradientError when `tensor` is on no graph, GraphFreedError after its backward.

    >>> import lumus as lm
    >>> x = lm.tensor([4.0, -1.0], requires_grad=True)
    >>> print(lm.inspect.find_nonfinite(x.sqrt().log().sum()))  # doctest: +ELLIPSIS
    sqrt at ...: y holds nan at (1,) (1 of 2 elements is not finite)
      ...
    """
    check_tensors("find_nonfinite", tensor)
    root = tensor.node
    if root is None:
        raise GradientError(
            f"find_nonfinite: the tensor {tensor.spec!r} is on no graph, so nothing was kept",
            hint="compute it within lumus.inspect.check_finite()",
        )
    for node in computation_order(root):
        found = _in_node(node)
        if found is not None:
            return found
    return _found(root, "", "the result", tensor)


def _in_node(node: Node) -> NonFinite | None:
    if isinstance(node, Leaf):
        leaf = node.tensor()
        return None if leaf is None else _found(node, "", "the leaf itself", leaf)
    if isinstance(node.record, Consumed):
        raise GraphFreedError(
            f"find_nonfinite: what {node.op} at {describe(node.site)} had recorded was released by "
            f"the backward at {describe(node.consumed_at)}",
            hint="call it before backward, or pass retain_graph=True to that",
            op=node.op,
            site=node.site,
        )
    assert isinstance(node.record, Record)
    for field, saved in node.record.saved():
        found = _found(_maker(node, saved), field, field, saved.tensor())
        if found is not None:
            return found
    return None


def _maker(node: Node, saved: Saved[Any]) -> Node:
    """The op that made a saved value, or the one that saved it, if its maker is on no graph."""
    return saved.origin[0] if isinstance(saved.origin, tuple) else node


def _found(node: Node, field: str, what: str, tensor: Tensor[Any]) -> NonFinite | None:
    first = None if tensor.dtype.kind != "float" else first_in(tensor, _ALL)
    if first is None:
        return None
    head = f"{node.op} at {describe(node.site)}: {what} {describe_first(first, tensor, _ALL)}"
    index, value, count = first
    text = f"{head}\n  {source_line(node.site)}"
    return NonFinite(node.op, field, index, value, count, describe(node.site), text)
