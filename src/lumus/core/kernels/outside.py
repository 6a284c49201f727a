"""Kernels that do something else than compute: raise, call Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from lumus import errors
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel


@frozen
class Checked(Kernel):
    """Of (value, holds): the value, if `holds` is True throughout; else raises.

    `error` is the name of a class of lumus.errors; in `message` ``{}`` stands for the first value
    where it does not hold.
    """

    error: str
    message: str
    hint: str | None

    def failure(self, value: Any, where: str = "") -> errors.LumusError:
        """The error for a value that does not hold."""
        error: type[errors.LumusError] = getattr(errors, self.error)
        return error(self.message.format(value) + where, hint=self.hint)


@frozen
class Callback(Kernel):
    """Python code given by a user: ``run(outputs, *data)``, with the specs of the outputs.

    It runs ops of the device itself, so every device has this kernel.
    """

    is_pure: ClassVar[bool] = False

    run: Callable[..., Any]
