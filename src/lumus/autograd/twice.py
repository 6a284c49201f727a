"""Gradient functions that are run to be differentiated again must not leave the graph.

What leaves it unseen would be a second derivative that is silently wrong. A tensor on a graph
refuses `numpy()` anyway; here `detach()` and `no_grad`, by which one gets round that, refuse, too.
"""

from __future__ import annotations

import sys
from contextvars import ContextVar

from lumus.core.site import INTERNAL_PREFIXES, call_site, describe
from lumus.errors import GradientError

RUN_AGAIN: ContextVar[str | None] = ContextVar("lumus_run_again", default=None)
"""The custom op whose gradient function is being run with its own graph recorded."""

HINT = (
    "compute with the values as they come, by lumus ops; NumPy code goes into a custom_op with a "
    "gradient of its own, a saved value that depends on no input into constants="
)


def refuse_detach() -> None:
    """Raises when the user's part of such a gradient function detaches a value.

    Ops of lumus detach where it is right to. Called by the composite behind `Tensor.detach`.
    """
    name = RUN_AGAIN.get()
    # Up the stack: here, the composite, `call`, `Tensor.detach`, who called it.
    if name is not None and not _is_internal(sys._getframe(4).f_code.co_filename):
        raise left_graph(name, f"detaches a value at {describe(call_site())}")


def refuse_no_grad() -> None:
    """Raises when such a gradient function switches recording off."""
    name = RUN_AGAIN.get()
    if name is not None:
        raise left_graph(name, f"switches recording off (no_grad) at {describe(call_site())}")


def _is_internal(file: str) -> bool:
    return file.startswith(INTERNAL_PREFIXES)


def left_graph(name: str, what: str) -> GradientError:
    """The error for a gradient function that does something that leaves the graph."""
    return GradientError(
        f"{name}: its gradient function {what}, so {name} cannot be differentiated twice",
        hint=HINT,
        op=name,
    )
