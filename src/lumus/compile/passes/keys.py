"""When two kernels are the same: of one class, with the same parameters.

Numbers are told apart as they are printed (0.0 from -0.0, 1 from 1.0), expressions by what they
compute, not by identity as elsewhere.
"""

from __future__ import annotations

from typing import Any

from lumus.core.kernels.kernel import Kernel
from lumus.core.scalar.expressions import Expression
from lumus.core.scalar.simplifier import Simplifier


class Keys:
    """Keys that are equal for kernels that compute the same. Of one object only, and hashable."""

    def __init__(self) -> None:
        # It gives alike expressions the same nodes, which are compared by identity.
        self._simplify = Simplifier()
        self._expressions: dict[Expression, Any] = {}

    def of(self, kernel: Kernel) -> Any:
        """The key of a kernel."""
        return self._fields(kernel)

    def are_equal(self, one: Kernel, other: Kernel) -> bool:
        """Whether two kernels are the same."""
        return one is other or self.of(one) == self.of(other)

    def _fields(self, value: Any) -> Any:
        return (type(value), *[self._key(getattr(value, name)) for name in value.field_names])

    def _key(self, value: Any) -> Any:
        if isinstance(value, Expression):
            return self._expression(value)
        if isinstance(value, (bool, int, float)):
            return (type(value), repr(value))
        if isinstance(value, tuple):
            return tuple([self._key(part) for part in value])
        return self._fields(value) if hasattr(value, "field_names") else value

    def _expression(self, expression: Expression) -> Any:
        key = self._expressions.get(expression)
        if key is None:
            outputs = tuple([self._simplify(output) for output in expression.outputs])
            key = self._expressions[expression] = (expression.num_inputs, outputs)
        return key
