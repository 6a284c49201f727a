"""checked: a value that must hold something, found out when it is computed."""

from __future__ import annotations

from typing import Any, cast

from lumus.core import kernels
from lumus.core.dispatch import apply
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Bool, K
from lumus.core.op import Op, Specs, register
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.errors import LumusError


@frozen
class CheckedAttrs:
    """The error, what it tells (with ``{}`` for the value), and what to do about it."""

    error: str
    message: str
    hint: str | None


@register
class Checked(Op):
    """Of (value, holds), broadcast to it: the value; what uses it comes after the check."""

    name = "checked"
    attrs = CheckedAttrs
    differentiable = False
    reason = "it is for checks of values, which are not differentiated"

    def infer(self, specs: Specs, attrs: CheckedAttrs) -> Spec:
        return specs[0]

    def kernel(self, specs: Specs, attrs: CheckedAttrs) -> Kernel:
        return kernels.Checked(attrs.error, attrs.message, attrs.hint)


def checked(
    value: Tensor[K],
    holds: Tensor[Bool],
    error: type[LumusError],
    message: str,
    hint: str | None = None,
) -> Tensor[K]:
    """`value`, when `holds` is True throughout; else the error, also from a compiled function.

    For checks of values that are made before values exist; what is returned is to be used.
    """
    told = {"error": error.__name__, "message": message, "hint": hint}
    return cast("Tensor[Any]", apply("checked", value, holds, **told))
