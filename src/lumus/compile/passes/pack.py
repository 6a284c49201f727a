"""pack: constant matrices lie in memory as the products that read them do best."""

from __future__ import annotations

from typing import Any

from lumus.core import kernels as k
from lumus.trace.program import Capture, Equation, Program, Var

FEW_ROWS = 4
"""Products of up to as many rows read the matrix where it lies; those of more pack it anyway."""


def pack(program: Program) -> Program:
    """Stores the constant weight of a product of few rows transposed, as its inputs by outputs.

    Such a product is bound by reading the weight, and the sums of neighbouring columns run along
    with it if they are neighbours in memory; the bits are the same. A weight that other equations
    read as it was stays for them, so it is packed only where nothing else does.
    """
    constants = {one.var: one for one in program.captures if one.constant}
    uses = program.uses()
    packed: list[Capture] = []
    equations: list[Equation] = []
    for one in program.equations:
        weight = constants.get(one.inputs[1]) if _gains(one) else None
        if weight is None or uses[weight.var] != 1:
            equations.append(one)
            continue
        turned = Var(weight.var.spec.with_shape(weight.var.spec.shape[::-1]), weight.var.label)
        packed.append(Capture(turned, _transposed(weight, turned), True))
        x, _, *bias = one.inputs
        kernel, inputs = k.MatMul(False, bool(bias)), (x, turned, *bias)
        equations.append(Equation(one.op, None, kernel, inputs, one.outputs, one.sites))
    return program.with_captures([*program.captures, *packed]).with_equations(equations)


def _gains(one: Equation) -> bool:
    if not isinstance(one.kernel, k.MatMul) or not one.kernel.transposed:
        return False
    x, weight = one.inputs[0].spec, one.inputs[1].spec
    return weight.ndim == 2 and x.size <= FEW_ROWS * weight.shape[1]


def _transposed(weight: Capture, turned: Var) -> Any:
    spec, device = weight.var.spec, turned.spec.device
    view = device.prepare(k.Permute((1, 0)), (spec,), (turned.spec,))(weight.data)
    return device.prepare(k.Copy(), (turned.spec,), (turned.spec,))(view)
