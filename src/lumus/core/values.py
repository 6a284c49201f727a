"""Ops whose results have as many elements as values say: not for a trace, which has no values."""

from __future__ import annotations

from lumus.core.mode import MODE
from lumus.core.site import call_site, described_line
from lumus.errors import TraceError


def require_values(op: str, what: str, hint: str) -> None:
    """Raises TraceError while a function is traced: `what` depends on values."""
    tracer = MODE.get().tracer
    if tracer is None:
        return
    site = call_site()
    error = TraceError(
        f"{op}: {what} depends on values, which exist only when the compiled function runs; "
        f"it is called at {described_line(site)}",
        hint=hint,
        op=op,
        site=site,
    )
    raise tracer.refuse(error)
