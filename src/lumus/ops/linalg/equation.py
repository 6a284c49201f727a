"""The equations of einsum, read and checked."""

from __future__ import annotations

from lumus.core.broadcast import Shape
from lumus.errors import ArgumentError, ShapeError
from lumus.ops.linalg.contraction import Labels


def read_equation(equation: str, shapes: tuple[Shape, ...]) -> tuple[tuple[Labels, ...], Labels]:
    """The labels of each operand's axes, and those of the result.

    A letter's label is its code; axis i from the right of an ellipsis has label -i.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes) or not shapes:
        raise ArgumentError(
            f"einsum: {equation!r} has {len(terms)} {'term' if len(terms) == 1 else 'terms'}, for "
            f"{len(shapes)} {'operand' if len(shapes) == 1 else 'operands'}",
            op="einsum",
        )
    read = tuple([_labels(equation, one, shape) for one, shape in zip(terms, shapes, strict=True)])
    _check_lengths(equation, read, shapes)
    unnamed = max(-min((0, *labels)) for labels in read)
    if not arrow:
        return read, (*_ellipsis(unnamed), *_once(left))
    return read, _output(equation, right, {label for labels in read for label in labels}, unnamed)


def _ellipsis(count: int) -> Labels:
    return tuple(range(-count, 0))


def _once(terms: str) -> Labels:
    return tuple(
        [ord(one) for one in sorted(set(terms)) if one.isalpha() and terms.count(one) == 1]
    )


def _split(equation: str, term: str) -> tuple[str, str, str]:
    """The letters before the ellipsis, the ellipsis, the letters after it."""
    before, dots, after = term.partition("...")
    for one in before + after:
        if not (one.isascii() and one.isalpha()):
            raise ArgumentError(
                f"einsum: {one!r} in {equation!r} is no letter",
                hint="letters name axes, ... stands for those without names, commas part operands",
                op="einsum",
            )
    return before, dots, after


def _labels(equation: str, term: str, shape: Shape) -> Labels:
    before, dots, after = _split(equation, term)
    unnamed = len(shape) - len(before) - len(after)
    if unnamed < 0 or (unnamed and not dots):
        raise ShapeError(
            f"einsum: {term!r} in {equation!r} names {len(before) + len(after)} axes, its operand "
            f"of shape {shape} has {len(shape)}",
            op="einsum",
        )
    letters = [ord(one) for one in before], [ord(one) for one in after]
    return (*letters[0], *_ellipsis(unnamed), *letters[1])


def _check_lengths(equation: str, read: tuple[Labels, ...], shapes: tuple[Shape, ...]) -> None:
    known: dict[int, int] = {}
    for labels, shape in zip(read, shapes, strict=True):
        for label, length in zip(labels, shape, strict=True):
            before = known.setdefault(label, length)
            if before == length or (label < 0 and length == 1):
                continue
            if label < 0 and before == 1:
                known[label] = length
                continue
            what = (
                "axes under ... do not broadcast"
                if label < 0
                else f"{chr(label)!r} stands for axes"
            )
            raise ShapeError(
                f"einsum: in {equation!r} {what} of length {before} and {length}, "
                f"operands have shapes {', '.join(map(str, shapes))}",
                op="einsum",
            )


def _output(equation: str, term: str, known: set[int], unnamed: int) -> Labels:
    before, dots, after = _split(equation, term)
    letters = before + after
    for one in letters:
        if letters.count(one) > 1:
            raise ArgumentError(
                f"einsum: {one!r} stands twice in the result of {equation!r}", op="einsum"
            )
        if ord(one) not in known:
            raise ArgumentError(
                f"einsum: {one!r} of the result of {equation!r} is in no operand", op="einsum"
            )
    if unnamed and not dots:
        raise ArgumentError(
            f"einsum: the axes under ... are not in the result of {equation!r}",
            hint="write ... there, too; to sum over them, name them",
            op="einsum",
        )
    return (*[ord(one) for one in before], *_ellipsis(unnamed), *[ord(one) for one in after])
