"""Kernels of each element alone."""

from __future__ import annotations

from lumus.core.dtypes import DType
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import Kind
from lumus.core.scalar.expressions import Expression


@frozen
class Elementwise(Kernel):
    """Each output is an expression of the inputs, which are broadcast together."""

    expression: Expression


@frozen
class Copy(Kernel):
    """A dense copy in row-major order."""


@frozen
class Cast(Kernel):
    """A dense copy in another dtype."""

    dtype: DType[Kind]
