"""freeze: what a program only reads becomes constant."""

from __future__ import annotations

from typing import Any

from lumus.core.kernels import Copy
from lumus.core.spec import Spec
from lumus.trace.program import Capture, Program


def freeze(program: Program, *, copies: bool = True) -> Program:
    """The program with constants for the captured arrays that it does not write.

    They are copies: what is written to the arrays later does not reach the program, and passes may
    compute with the values. Without `copies` they are the arrays, which nobody else may have.
    """
    written = {write.target for write in program.writes}
    return program.with_captures(
        [
            one
            if one.constant or one.var in written
            else Capture(one.var, _copied(one.data, one.var.spec) if copies else one.data, True)
            for one in program.captures
        ]
    )


def _copied(data: Any, spec: Spec) -> Any:
    return spec.device.prepare(Copy(), (spec,), (spec,))(data)
