"""Plans: what is decided once per signature of an op, and kept.

A signature is an op with the specs of its inputs and its static arguments; equal signatures check,
infer and choose a kernel once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lumus.core.argument import plain_attrs
from lumus.core.device import Run
from lumus.core.kernels.elementwise import Elementwise
from lumus.core.kernels.kernel import Kernel
from lumus.core.op import OPS, Needs, Op
from lumus.core.record import Record
from lumus.core.spec import Spec
from lumus.errors import DeviceError

if TYPE_CHECKING:
    from lumus.core.tensor import Tensor

MAX_PLANS = 1 << 16


class Plan:
    """What is decided once per signature: the op, its attrs, its output specs, the ready kernel.

    `output` is the spec of the only output, or of the first.
    """

    __slots__ = (
        "attrs",
        "into",
        "name",
        "op",
        "output",
        "outputs",
        "recorded",
        "records",
        "run",
        "specs",
    )

    def __init__(
        self,
        name: str,
        op: Op | None,
        attrs: Any,
        specs: tuple[Spec, ...],
        outputs: tuple[Spec, ...],
    ) -> None:
        self.name = name
        self.op = op
        self.attrs = attrs
        self.specs = specs
        self.outputs = outputs
        self.output = outputs[0]
        # Only Float results have gradients: a conversion to Int leaves the graph.
        self.recorded = (
            op is not None
            and op.differentiable
            and any(spec.dtype.kind == "float" for spec in outputs)
        )
        self.run: Run = self._first_run
        self.into: Run = self._first_into
        # Records that depend on the signature alone (`Record.by_signature`), by which inputs need
        # it.
        self.records: dict[Needs, Record] = {}

    def kernel(self) -> Kernel:
        """The kernel that computes it; an update (without an op) is its expression."""
        if self.op is None:
            return Elementwise(self.attrs)
        return self.op.kernel(self.specs, self.attrs)

    def _first_run(self, *data: Any) -> Any:
        # The kernel is made ready at its first eager use: a traced op may never need it.
        self.run = self.output.device.prepare(self.kernel(), self.specs, self.outputs)
        return self.run(*data)

    def _first_into(self, outputs: Any, inputs: Any) -> None:
        self.into = self.output.device.prepare_into(self.kernel(), self.specs, self.outputs)
        self.into(outputs, inputs)


PLANS: dict[Any, Plan] = {}


def make_plan(key: Any, name: str, inputs: tuple[Tensor[Any], ...], attrs: dict[str, Any]) -> Plan:
    """Checks a signature that has not been met before, and keeps its plan under `key`."""
    op = OPS[name]
    specs = tuple(tensor.spec for tensor in inputs)
    check_devices(name, specs)
    values = None
    if op.attrs is not None:
        # Two orders of the same attrs would be two keys, and could be one key for different attrs.
        assert tuple(attrs) == op.attrs.field_names, (name, tuple(attrs))
        values = op.attrs(**plain_attrs(name, op.attrs.__annotations__, attrs))
    outputs = op.infer(specs, values)
    if isinstance(outputs, Spec):
        outputs = (outputs,)
    return remember(key, Plan(name, op, values, specs, outputs))


def remember(key: Any, plan: Plan) -> Plan:
    """Keeps a plan; when there are too many, the others are forgotten and made again on need."""
    if len(PLANS) >= MAX_PLANS:
        PLANS.clear()
    PLANS[key] = plan
    return plan


def check_devices(name: str, specs: tuple[Spec, ...]) -> None:
    """Raises DeviceError unless all specs are on one device."""
    for spec in specs[1:]:
        if spec.device is not specs[0].device:
            raise DeviceError(
                f"{name}: tensors are on devices {specs[0].device} and {spec.device}",
                hint=f"move one, for example with .to_device({specs[0].device.name!r})",
                op=name,
                specs=specs,
            )
