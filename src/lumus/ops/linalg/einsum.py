"""einsum: products of tensors summed over named axes, as a chain of matrix products."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, overload

from lumus.core.argument import check_tensors
from lumus.core.broadcast import Shape
from lumus.core.dispatch import apply
from lumus.core.dtypes import promote
from lumus.core.kinds import Float, Int
from lumus.core.op import kind_error
from lumus.core.tensor import Tensor
from lumus.errors import ArgumentError
from lumus.ops.linalg.contraction import Labels, Order, contraction_order
from lumus.ops.linalg.equation import read_equation


@overload
def einsum(equation: str, *operands: Tensor[Float]) -> Tensor[Float]: ...
@overload
def einsum(equation: str, *operands: Tensor[Int]) -> Tensor[Int]: ...
def einsum(equation: str, *operands: Any) -> Any:
    """Products of the operands, summed over named axes: ``einsum("bik,bkj->bij", x, y)``.

    Each operand has a term, in which a letter names each of its axes; ``...`` stands for axes
    without names, which broadcast. What the result has stands after ``->``: letters that are not
    there are summed over. Without ``->`` the result has the axes of ``...``, then the letters that
    occur once, in alphabetical order. A letter twice in a term takes the diagonal.

    The operands are multiplied two at a time, as matrices where axes are summed, in the order that
    takes the fewest multiplications (found exactly for up to six operands, else step by step).
    The result may be a view of a single operand.

    **Shapes.** Axes of one letter have one length.
    **Kinds.** Float or Int, all the same; dtypes promote. Sums are those of `matmul`.
    **Gradient.** For each operand the einsum of `grad` and the others.
    **Raises.** ArgumentError for an equation that is not one, ShapeError for operands that do not
    fit it, KindError for Bool or mixed kinds.

    >>> import lumus as lm
    >>> lm.einsum("ij,j->i", lm.tensor([[1, 2], [3, 4]]), lm.tensor([1, 10])).tolist()
    [21, 43]
    """
    check_tensors("einsum", *operands)
    if not isinstance(equation, str):
        raise ArgumentError(
            f"einsum: the equation must be text, got {type(equation).__name__}",
            hint='as in einsum("ij,jk->ik", x, y)',
            op="einsum",
        )
    terms, output, order = _plan(equation, tuple([one.shape for one in operands]))
    dtype = operands[0].dtype
    for one in operands[1:]:
        dtype = promote(dtype, one.dtype, "einsum")
    if dtype.kind == "bool":
        raise kind_error("einsum", dtype, ("float", "int"))
    parts = [_diagonals(one.astype(dtype), term) for one, term in zip(operands, terms, strict=True)]
    tensor, labels = _contracted(parts, output, order)
    if labels == output:
        return tensor
    return tensor.permute_dims([labels.index(label) for label in output])


Part = tuple[Tensor[Any], Labels]
"""A tensor with a label for each axis, none twice."""


@lru_cache(maxsize=1024)
def _plan(equation: str, shapes: tuple[Shape, ...]) -> tuple[tuple[Labels, ...], Labels, Order]:
    """The labels of each operand and of the result, and the order to multiply in."""
    terms, output = read_equation(equation, shapes)
    sizes: dict[int, int] = {}
    for labels, shape in zip(terms, shapes, strict=True):
        for label, length in zip(labels, shape, strict=True):
            # Of axes that broadcast, the one that is not 1.
            sizes[label] = length if sizes.get(label, 1) == 1 else sizes[label]
    return terms, output, contraction_order(terms, output, sizes)


def _diagonals(x: Tensor[Any], term: Labels) -> Part:
    """The operand with each label once: of two axes of one label their diagonal, in their stead."""
    labels = list(term)
    for label in dict.fromkeys(term):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = x.moveaxis((first, second), (-2, -1)).diagonal()
            del labels[second], labels[first]
            labels.append(label)
    return x, tuple(labels)


def _contracted(parts: list[Part], output: Labels, order: Order) -> Part:
    """All parts multiplied, two at a time; the labels left are those of the output."""
    for first, second in order:
        one, other = parts[first], parts[second]
        parts = [part for place, part in enumerate(parts) if place not in (first, second)]
        needed = {*output, *(label for _, labels in parts for label in labels)}
        one, other = _summed(one, needed.union(other[1])), _summed(other, needed.union(one[1]))
        parts.append(_product(one, other, needed))
    return _summed(parts[0], set(output))


def _summed(part: Part, needed: set[int]) -> Part:
    """The part summed over the labels that are not needed, in its dtype."""
    tensor, labels = part
    alone = [place for place, label in enumerate(labels) if label not in needed]
    if not alone:
        return part
    total = tensor.sum(axis=alone).astype(tensor.dtype)
    return total, tuple([label for label in labels if label in needed])


def _product(one: Part, other: Part, needed: set[int]) -> Part:
    """Two parts multiplied, and summed over the labels that are not needed any more."""
    (x, ours), (y, theirs) = one, other
    shared = [label for label in ours if label in theirs]
    batch = [label for label in shared if label in needed]
    summed = [label for label in shared if label not in needed]
    rows = [label for label in ours if label not in shared]
    columns = [label for label in theirs if label not in shared]
    labels = (*batch, *rows, *columns)
    if summed and not rows and not columns:
        vectors = [_vectors(x, ours, batch, summed), _vectors(y, theirs, batch, summed)]
        return apply("vecdot", *vectors), labels
    left = _grouped(x, ours, batch, rows, summed)
    right = _grouped(y, theirs, batch, summed, columns)
    product = left @ right if summed else left * right
    if len(rows) == len(columns) == 1:
        return product, labels
    lengths = [x.shape[ours.index(label)] for label in rows]
    lengths += [y.shape[theirs.index(label)] for label in columns]
    return product.reshape((*product.shape[: len(batch)], *lengths)), labels


def _ordered(x: Tensor[Any], labels: Labels, order: Labels) -> Tensor[Any]:
    return x if labels == order else x.permute_dims([labels.index(label) for label in order])


def _vectors(x: Tensor[Any], labels: Labels, batch: list[int], summed: list[int]) -> Tensor[Any]:
    """A stack of vectors: the batch axes as they are, those to sum over as one."""
    x = _ordered(x, labels, (*batch, *summed))
    kept = x.shape[: len(batch)]
    return x if len(summed) == 1 else x.reshape((*kept, math.prod(x.shape[len(batch) :])))


def _grouped(
    x: Tensor[Any], labels: Labels, batch: list[int], first: list[int], second: list[int]
) -> Tensor[Any]:
    """A stack of matrices: the batch axes as they are, those of each group as one."""
    x = _ordered(x, labels, (*batch, *first, *second))
    if len(first) == len(second) == 1:
        return x
    shape, middle = x.shape, len(batch) + len(first)
    groups = (math.prod(shape[len(batch) : middle]), math.prod(shape[middle:]))
    return x.reshape((*shape[: len(batch)], *groups))
