"""What an op is: its checks, its kernel, its record. One instance of each, known by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from lumus.core.broadcast import broadcast_shapes
from lumus.core.dtypes import DType, bool_, promote
from lumus.core.index_errors import index_error
from lumus.core.kernels.elementwise import Elementwise
from lumus.core.kernels.kernel import Kernel
from lumus.core.kinds import TITLE, KindName
from lumus.core.record import Record
from lumus.core.scalar.expressions import Expression
from lumus.core.spec import Spec, spec_of
from lumus.errors import IndexRangeError, KindError

if TYPE_CHECKING:
    from lumus.core.tensor import Tensor

Specs = tuple[Spec, ...]
Needs = tuple[bool, ...]


class Op(ABC):
    """An operation. Its file holds, in this order: attrs, record, op, public function.

    `attrs` is the frozen dataclass of its static arguments, if it has any. An op that cannot be
    differentiated sets `differentiable = False` and says why in `reason`.
    """

    name: str
    attrs: type[Any] | None = None
    differentiable: bool = True
    reason: str = ""

    @abstractmethod
    def infer(self, specs: Specs, attrs: Any) -> Spec | Specs:
        """The output's spec, or those of several outputs.

        The only place where shapes, kinds and dtypes are checked.
        """

    @abstractmethod
    def kernel(self, specs: Specs, attrs: Any) -> Kernel:
        """Which kernel computes it, with which parameters."""

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Any, attrs: Any, needs: Needs
    ) -> Record:
        """What backward needs. `needs[i]` says whether input i takes part in the graph.

        `output` is the result, a tensor, or a tuple of them if `infer` gives several specs.
        """
        raise NotImplementedError(f"op {self.name} is differentiable but has no record")

    def index_error(self, error: IndexRangeError) -> IndexRangeError:
        """The error for an index that the kernel has found out of range, in this op's words."""
        return error

    def may_be_infinite(self, attrs: Any) -> tuple[int, ...]:
        """Numbers of the outputs in which an infinity is no mistake that a hunt should report."""
        return ()


def op_index_error(name: str, error: Any) -> IndexRangeError:
    """The user's error for a bad index that the kernel of an op met, in the op's words if known."""
    told = index_error(name, error)
    return OPS[name].index_error(told) if name in OPS else told


class ElementwiseOp(Op):
    """An op given by a scalar expression. Inputs broadcast; within a kind dtypes promote.

    `kinds` are those that the operands may have; `scalar` is the expression; `result` the kind of
    the output when it is not that of the operands (comparisons give bool).
    """

    kinds: ClassVar[tuple[KindName, ...]] = ("float",)
    scalar: ClassVar[Expression]
    result: ClassVar[DType[Any] | None] = None
    kind_hint: ClassVar[str | None] = None

    def infer(self, specs: Specs, attrs: Any) -> Spec:
        dtype = specs[0].dtype
        for spec in specs[1:]:
            dtype = promote(dtype, spec.dtype, self.name)
        self.check_kind(dtype)
        shape = broadcast_shapes(self.name, *(spec.shape for spec in specs))
        return spec_of(shape, self.result or dtype, specs[0].device)

    def kernel(self, specs: Specs, attrs: Any) -> Kernel:
        return Elementwise(self.scalar)

    def check_kind(self, dtype: DType[Any]) -> None:
        """Raises KindError when the op does not exist for this kind."""
        if dtype.kind not in self.kinds:
            raise kind_error(self.name, dtype, self.kinds, self.kind_hint)


class Comparison(ElementwiseOp):
    """An elementwise op whose result is Bool, and so has no gradient."""

    kinds: ClassVar[tuple[KindName, ...]] = ("float", "int")
    result = bool_
    differentiable = False
    reason = "its result is Bool"


def kind_error(
    op: str,
    dtype: DType[Any],
    kinds: tuple[KindName, ...],
    hint: str | None = None,
    what: str = "a tensor",
) -> KindError:
    """The error for an op called on a kind that it does not exist for."""
    wanted = " or ".join(TITLE[kind] for kind in kinds)
    if hint is None:
        target = {"float": "float32", "int": "int64", "bool": "bool"}[kinds[0]]
        hint = f"convert it with .astype(lumus.{'bool_' if target == 'bool' else target})"
    return KindError(
        f"{op}: needs {what} of kind {wanted}, got {TITLE[dtype.kind]} ({dtype.name})",
        hint=hint,
        op=op,
        dtype=dtype.name,
    )


OPS: dict[str, Op] = {}

AnyOp = TypeVar("AnyOp", bound=Op)


def register(cls: type[AnyOp]) -> type[AnyOp]:
    """Makes an op known by its name."""
    if cls.name in OPS:
        raise ValueError(f"two ops are named {cls.name!r}")
    op: Op = cls()
    OPS[cls.name] = op
    return cls
