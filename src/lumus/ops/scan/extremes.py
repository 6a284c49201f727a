"""What cummax and cummin share: an op of two results, extremes and their positions."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from lumus.core.dispatch import apply
from lumus.core.dtypes import int64
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.lines import RunningExtreme
from lumus.core.kinds import Float, Int
from lumus.core.op import Needs, Op, Specs, kind_error
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.spec import Spec
from lumus.core.tensor import Tensor
from lumus.ops.broadcasting import zeros
from lumus.ops.scan.axis import ScanAttrs


@record
class RunningExtremeRecord(Record):
    """d values / dx = grad added at the positions."""

    spec: Spec
    positions: Saved[Int]
    axis: int

    def vjp(self, *grads: Tensor[Float] | None) -> tuple[Tensor[Float] | None, ...]:
        positions = self.positions.tensor()
        return (apply("scatter_add", zeros(self.spec), positions, grads[0], axis=self.axis),)


class RunningExtremeOp(Op):
    """(the extreme so far, the position of the first such) along an axis."""

    attrs = ScanAttrs
    extreme: ClassVar[Literal["max", "min"]]

    def infer(self, specs: Specs, attrs: ScanAttrs) -> Specs:
        (spec,) = specs
        if spec.dtype.kind == "bool":
            hint = "convert with .astype(lumus.int64)"
            raise kind_error(self.name, spec.dtype, ("float", "int"), hint)
        return (spec, spec.with_dtype(int64))

    def kernel(self, specs: Specs, attrs: ScanAttrs) -> Kernel:
        return RunningExtreme(self.extreme, attrs.axis)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Any, attrs: ScanAttrs, needs: Needs
    ) -> Record:
        return RunningExtremeRecord(inputs[0].spec, saved_output(output[1], 1), attrs.axis)
