"""What all kernels have in common."""

from __future__ import annotations

from typing import ClassVar

from lumus.core.frozen import frozen


@frozen
class Kernel:
    """Base of the vocabulary.

    A kernel that `is_pure` gives equal results for equal inputs and does nothing else, so that the
    compiler may run it once for many times, earlier, or not at all.
    """

    is_pure: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """The kernel's name in messages and programs."""
        return type(self).__name__
