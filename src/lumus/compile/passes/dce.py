"""dce: what nobody reads is not computed."""

from __future__ import annotations

from lumus.trace.program import Program


def dce(program: Program) -> Program:
    """Leaves out equations whose outputs are not used, and captured arrays that are not.

    An equation that does more than compute (a user's Python code) stays, as do inputs, which are
    the function's signature, and host inputs, whose source has to be told of each call. An error
    that only an unused value would have raised is not raised.
    """
    wanted = set(program.results())
    kept = []
    for one in reversed(program.equations):
        if not one.kernel.is_pure or not wanted.isdisjoint(one.outputs):
            wanted.update(one.inputs)
            kept.append(one)
    targets = {write.target for write in program.writes}
    captures = [one for one in program.captures if one.var in wanted or one.var in targets]
    return program.with_captures(captures).with_equations(reversed(kept))
