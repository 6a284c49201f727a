"""freeze: what a program only reads becomes constant."""

from __future__ import annotations

from typing import Any

from lumus.core.kernels.elementwise import Copy
from lumus.core.spec import Spec
from lumus.trace.program import Capture, Program


class Copies:
    """Copies of arrays from outside, one of each, with the values that it had at first.

    So programs of many shapes, which read the same weights, hold them once and agree on them.
    """

    __slots__ = ("_made",)

    def __init__(self) -> None:
        # With the arrays, so that no other one comes to lie in their place.
        self._made: dict[Any, tuple[Any, Any]] = {}

    def of(self, data: Any, spec: Spec) -> Any:
        """What the array held when it was met first, in memory that nobody writes."""
        place = (data.storage_id, data.address, tuple(data.strides), spec)
        if place not in self._made:
            self._made[place] = (data, spec.device.prepare(Copy(), (spec,), (spec,))(data))
        return self._made[place][1]

    def clear(self) -> None:
        """Forgets them."""
        self._made.clear()


def freeze(program: Program, copies: Copies | None = None) -> Program:
    """The program with constants for the captured arrays that it does not write.

    With `copies` they are those: what is written to the arrays later does not reach the program,
    and passes may compute with the values. Else they are the arrays, which nobody else may have.
    """
    written = {write.target for write in program.writes}
    return program.with_captures(
        [
            one
            if one.constant or one.var in written
            else Capture(one.var, copies.of(one.data, one.var.spec) if copies else one.data, True)
            for one in program.captures
        ]
    )
