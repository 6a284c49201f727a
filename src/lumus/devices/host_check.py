"""The kernel that raises: a check of a value when it is computed, on a host device."""

from __future__ import annotations

from typing import Any

import numpy as np

from lumus.core.kernels import Checked
from lumus.errors import GradientError


def check(kernel: Checked, value: Any, holds: Any) -> Any:
    """The value, or the error that says why it must not be used."""
    if not bool(np.asarray(holds).all()):
        shown = np.asarray(value).reshape(-1)[0].item()
        raise GradientError(kernel.message.format(shown), hint=kernel.hint)
    return value
