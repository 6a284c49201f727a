"""Which passes run, in which order."""

from __future__ import annotations

from lumus.compile.passes.dce import dce
from lumus.compile.passes.fuse import fuse
from lumus.trace.program import Pass, Program


def passes(*, fast_math: bool) -> list[Pass]:
    """The passes, in order."""
    return [dce, fuse]


def optimised(program: Program, *, fast_math: bool = False) -> Program:
    """The program after all passes."""
    for one in passes(fast_math=fast_math):
        program = one(program)
    return program
