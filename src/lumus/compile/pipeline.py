"""Which passes run, in which order."""

from __future__ import annotations

from functools import partial

from lumus.compile.passes.cse import cse
from lumus.compile.passes.dce import dce
from lumus.compile.passes.epilogue import epilogue
from lumus.compile.passes.fold import fold
from lumus.compile.passes.fuse import fuse
from lumus.compile.passes.layout import layout
from lumus.compile.passes.order import order
from lumus.compile.passes.pack import pack
from lumus.compile.passes.recompute import recompute
from lumus.compile.passes.simplify import simplify
from lumus.trace.program import Pass, Program


def passes(*, fast_math: bool) -> list[Pass]:
    """The passes, in order."""
    return [
        partial(fold, fast_math=fast_math),
        partial(simplify, fast_math=fast_math),
        cse,
        layout,
        pack,
        dce,
        fuse,
        epilogue,  # of elementwise equations that are whole by now
        order,
        # From here on nothing may merge equations: what is computed again would be merged again.
        recompute,
    ]


def optimised(program: Program, *, fast_math: bool = False) -> Program:
    """The program after all passes."""
    for one in passes(fast_math=fast_math):
        program = one(program)
    return program
