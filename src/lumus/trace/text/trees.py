"""The form of arguments and results as text, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lumus.core.tree import LEAF, Branch, StaticLeaf, Tree, static
from lumus.ops.linalg.eigh import EighResult
from lumus.ops.linalg.lstsq import LstsqResult
from lumus.ops.linalg.qr import QRResult
from lumus.ops.linalg.slogdet import SlogdetResult
from lumus.ops.linalg.svd import SVDResult
from lumus.trace.text.cursor import Cursor, MalformedError
from lumus.trace.text.values import plain_text, read_plain, tuple_text

MAX_DEPTH = 64

NAMED: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (EighResult, LstsqResult, QRResult, SlogdetResult, SVDResult)
}
"""Tuples with names for their items that can be saved: those of lumus."""

Refuse = Callable[[type[Any]], Exception]
"""Makes the error for a value of a type that cannot be written."""


def tree_text(tree: Tree, leaves: Iterator[str], refuse: Refuse, depth: int = 0) -> str:
    """Containers as Python writes them, with these texts for the tensors."""
    if tree is LEAF:
        return next(leaves)
    if isinstance(tree, StaticLeaf):
        return _plain(tree.value, refuse)
    kind = tree.kind
    if depth > MAX_DEPTH or not (kind in (tuple, list, dict) or NAMED.get(kind.__name__) is kind):
        raise refuse(kind)
    items = [tree_text(item, leaves, refuse, depth + 1) for item in tree.items]
    if kind is dict:
        pairs = zip([_plain(key, refuse) for key in tree.keys], items, strict=True)
        return f"{{{', '.join(f'{key}: {item}' for key, item in pairs)}}}"
    if kind is list:
        return f"[{', '.join(items)}]"
    return tuple_text(items) if kind is tuple else f"{kind.__name__}({', '.join(items)})"


def _plain(value: Any, refuse: Refuse) -> str:
    text = plain_text(value)
    if text is None:
        raise refuse(type(value))
    return text


def read_tree(cursor: Cursor, leaf: Callable[[Cursor], None], depth: int = 0) -> Tree:
    """A tree that `tree_text` wrote; `leaf` reads what stands for a tensor."""
    token = cursor.next
    if depth > MAX_DEPTH:
        raise MalformedError(f"column {token.column}: deeper than {MAX_DEPTH} containers")

    def item() -> Tree:
        return read_tree(cursor, leaf, depth + 1)

    if cursor.skip("["):
        return Branch(list, None, tuple(cursor.items(item, "]")))
    if cursor.skip("("):
        return Branch(tuple, None, tuple(cursor.items(item, ")")))
    if cursor.skip("{"):
        return _read_dict(cursor, item)
    if token.kind == "word" and token.text in NAMED:
        kind = NAMED[cursor.word()]
        cursor.expect("(")
        items = tuple(cursor.items(item, ")"))
        if len(items) != len(kind._fields):
            raise MalformedError(f"column {token.column}: {kind.__name__} of {len(items)} items")
        return Branch(kind, None, items)
    if token.kind == "value" or token.text == "same":
        leaf(cursor)
        return LEAF
    return static(read_plain(cursor))


def _read_dict(cursor: Cursor, item: Callable[[], Tree]) -> Branch:
    keys: dict[Any, None] = {}

    def entry() -> Tree:
        column, key = cursor.next.column, read_plain(cursor)
        if key in keys:
            raise MalformedError(f"column {column}: a key that the dict has already")
        keys[key] = None
        cursor.expect(":")
        return item()

    items = cursor.items(entry, "}")
    return Branch(dict, tuple(keys), tuple(items))
