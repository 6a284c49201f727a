"""Checks for ops: numerical gradients, op specs, and sweeps of them over devices and dtypes.

What lumus tests its own ops with, for users to test theirs. Needs NumPy only.
"""

from lumus.testing.gradcheck import gradcheck
from lumus.testing.op_spec import Case, Domain, Edge, OpSpec
from lumus.testing.sweep import (
    check_agreement,
    check_alone,
    check_edge,
    check_edges,
    check_forward,
    check_gradients,
    check_narrow_gradients,
    check_saved,
)

__all__ = [
    "Case",
    "Domain",
    "Edge",
    "OpSpec",
    "check_agreement",
    "check_alone",
    "check_edge",
    "check_edges",
    "check_forward",
    "check_gradients",
    "check_narrow_gradients",
    "check_saved",
    "gradcheck",
]
