"""The kernel that raises: a check of a value when it is computed, on a host device."""

from __future__ import annotations

from typing import Any

import numpy as np

from lumus.core.kernels.outside import Checked


def check(kernel: Checked, value: Any, holds: Any) -> Any:
    """The value, or the error that says why it must not be used."""
    each = np.asarray(holds)
    if each.all():
        return value
    wrong = np.broadcast_to(~each, np.asarray(value).shape)
    raise kernel.failure(np.asarray(value)[wrong][0].item())
