"""recurrent: all steps of one direction of one recurrent layer."""

from __future__ import annotations

from typing import Any

from lumus.core.composite import call
from lumus.core.dispatch import apply
from lumus.core.dtypes import float32, int64, is_half
from lumus.core.frozen import frozen
from lumus.core.kernels.kernel import Kernel
from lumus.core.kernels.recurrent import NUM_GATES, CellKind, Recurrent
from lumus.core.kinds import Float, Int
from lumus.core.mode import MODE
from lumus.core.op import Needs, Op, Specs, register
from lumus.core.record import Record, Saved, record, saved_output
from lumus.core.tensor import Tensor
from lumus.ops.broadcasting import zeros
from lumus.ops.elementwise.where import where
from lumus.ops.recurrent.check import check_specs
from lumus.ops.recurrent.unrolled import unrolled, valid_steps
from lumus.ops.shape.concat import concat

PAGE_BYTES = 4096


@frozen
class RecurrentAttrs:
    """The cell, the direction, and which of the optional inputs there are."""

    cell: CellKind
    reverse: bool
    has_bias: bool
    has_lengths: bool


@record
class RecurrentRecord(Record):
    """d recurrent(x, states, weights) = the steps backwards, then products over all of them."""

    inputs: tuple[Saved[Any], ...]
    output: Saved[Float]
    gates: Saved[Float] | None
    memory: Saved[Float] | None
    attrs: RecurrentAttrs
    needs: Needs

    def vjp(self, *grads: Tensor[Float] | None) -> tuple[Tensor[Float] | None, ...]:
        inputs = [one.tensor() for one in self.inputs]
        num_results = 1 + num_states(self.attrs.cell)
        if MODE.get().records:
            # The loop backwards is one kernel; what is to be differentiated again is plain ops.
            plain: list[Tensor[Float] | None] = call(
                "replay", lambda *given: _plain(self.attrs, given), inputs, grads[:num_results]
            )
            return tuple(plain)
        states = inputs[1:num_results]
        specs = (self.output.spec, *(state.spec for state in states))
        made = apply(
            "recurrent_grad",
            *[
                zeros(spec) if grad is None else grad
                for grad, spec in zip(grads, specs, strict=False)
            ],
            self.output.tensor(),
            *[one.tensor() for one in (self.gates, self.memory) if one is not None],
            *states,
            inputs[num_results + 1],
            *inputs[len(inputs) - self.attrs.has_lengths :],
            cell=self.attrs.cell,
            reverse=self.attrs.reverse,
            has_lengths=self.attrs.has_lengths,
        )
        return self._products(inputs, *made)

    def _products(
        self, inputs: list[Tensor[Any]], by_gates: Tensor[Float], *more: Tensor[Float]
    ) -> tuple[Tensor[Float] | None, ...]:
        """The gradients of inputs and weights from those of the gates, over all steps at once."""
        count = num_states(self.attrs.cell)
        by_states = more[-count:]
        flat = _flat(by_gates)
        flat_hidden = flat if len(more) == count else _flat(more[0])
        x, weight_ih = inputs[0], inputs[1 + count]
        needs_x, *_ = self.needs
        needs_weights = self.needs[1 + count :]
        found: list[Tensor[Float] | None] = [
            (flat @ weight_ih.astype(flat.dtype)).reshape(*x.shape) if needs_x else None,
            *by_states,
            _transposed_product(flat, x) if needs_weights[0] else None,
            _transposed_product(flat_hidden, self._states_before(inputs))
            if needs_weights[1]
            else None,
        ]
        if self.attrs.has_bias:
            by_bias = flat.sum(axis=0)
            found += [by_bias, by_bias if flat_hidden is flat else flat_hidden.sum(axis=0)]
        if self.attrs.has_lengths:
            found.append(None)
        return tuple(
            None if one is None else one.astype(saved.spec.dtype)
            for one, saved in zip(found, self.inputs, strict=True)
        )

    def _states_before(self, inputs: list[Tensor[Any]]) -> Tensor[Float]:
        """The hidden state that each step began with; anything where a step does not count."""
        output, first = self.output.tensor(), inputs[1].expand_dims(0)
        num_steps = output.shape[0]
        if num_steps == 0:
            return output
        if not self.attrs.reverse:
            return concat([first, output.narrow(0, 0, num_steps - 1)])
        before = concat([output.narrow(0, 1, num_steps - 1), first])
        if self.attrs.has_lengths:
            # Of a shorter row the first state meets its own last step.
            goes_on = valid_steps(inputs[-1].astype(int64) - 1, num_steps)
            before = where(goes_on, before, first)
        return before


def _transposed_product(flat: Tensor[Float], steps: Tensor[Float]) -> Tensor[Float]:
    """``flat.T @ steps``, all steps of `steps` one under the other."""
    steps = _flat(steps).astype(flat.dtype)
    if flat.shape[1] * flat.dtype.itemsize % PAGE_BYTES:
        return flat.T @ steps
    # Columns whole pages apart fight for the same places in the cache; the bits are the same.
    return (steps.T @ flat).T.copy()


def _flat(steps: Tensor[Float]) -> Tensor[Float]:
    """All steps of all rows of the batch, one under the other."""
    num_steps, batch, width = steps.shape
    return steps.reshape(num_steps * batch, width)


@register
class RecurrentOp(Op):
    """Of (x, first states, weight_ih, weight_hh[, bias_ih, bias_hh][, lengths]).

    Gives (output, last states), and of lstm and gru what their backward needs besides.
    """

    name = "recurrent"
    attrs = RecurrentAttrs

    def infer(self, specs: Specs, attrs: RecurrentAttrs) -> Specs:
        check_specs(attrs.cell, specs, has_bias=attrs.has_bias, has_lengths=attrs.has_lengths)
        x, hidden = specs[:2]
        output = x.with_shape((*x.shape[:2], hidden.shape[1]))
        results = (output, *specs[1 : 1 + num_states(attrs.cell)])
        if NUM_GATES[attrs.cell] == 1:
            return results
        memory = output.with_dtype(float32) if is_half(output.dtype) else output
        rows = specs[1 + num_states(attrs.cell)].shape[0]
        return (*results, memory.with_shape((*x.shape[:2], rows)), memory)

    def kernel(self, specs: Specs, attrs: RecurrentAttrs) -> Kernel:
        return Recurrent(attrs.cell, attrs.reverse, attrs.has_bias, attrs.has_lengths)

    def record(
        self, inputs: tuple[Tensor[Any], ...], output: Any, attrs: RecurrentAttrs, needs: Needs
    ) -> Record:
        gates = memory = None
        if NUM_GATES[attrs.cell] > 1:
            last = len(output) - 1
            gates = saved_output(output[last - 1], last - 1)
            memory = saved_output(output[last], last)
        saved = tuple([Saved(one) for one in inputs])
        return RecurrentRecord(saved, saved_output(output[0]), gates, memory, attrs, needs)


def num_states(cell: CellKind) -> int:
    """How many states a cell has."""
    return 2 if cell == "lstm" else 1


def _plain(attrs: RecurrentAttrs, inputs: tuple[Tensor[Any], ...]) -> tuple[Tensor[Float], ...]:
    x, *rest = inputs
    lengths = rest.pop() if attrs.has_lengths else None
    count = num_states(attrs.cell)
    return unrolled(
        attrs.cell, x, rest[:count], rest[count:], lengths=lengths, reverse=attrs.reverse
    )


def recurrent(
    cell: CellKind,
    x: Tensor[Float],
    states: list[Tensor[Float]],
    weights: list[Tensor[Float]],
    *,
    lengths: Tensor[Int] | None = None,
    reverse: bool = False,
) -> tuple[Tensor[Float], ...]:
    """(output, last states) of all steps of a layer in one direction.

    For each step, from the last one if `reverse`, with ``p = weight_ih @ x[t] + bias_ih`` and
    ``q = weight_hh @ h + bias_hh`` cut into the cell's gates:

    - tanh, relu: ``h = tanh(p + q)`` or ``relu(p + q)``;
    - lstm: ``i, f, g, o`` with ``c = sigmoid(f) * c + sigmoid(i) * tanh(g)``,
      ``h = sigmoid(o) * tanh(c)``;
    - gru: ``r, z, n`` with ``h = (1 - z) * n + z * h``, where r and z are sigmoids of the sums and
      ``n = tanh(p_n + r * q_n)``.

    **Shapes.** `x` (steps, batch, inputs), each state (batch, hidden), weights (gates * hidden,
    inputs), (gates * hidden, hidden) and, if there are biases, two of (gates * hidden,); `lengths`
    (batch,): from its length on a row's output is 0 and its state stays. The output is (steps,
    batch, hidden).
    **Kinds.** Float of one dtype; lengths are Int. Half types compute in float32.
    **Gradient.** The steps backwards. What stands in `x` beyond a length must be finite.
    **Raises.** ShapeError, KindError, DTypeError.

    >>> import lumus as lm
    >>> one = lm.ones((1, 1))
    >>> y, last = recurrent("relu", lm.ones((3, 1, 1)), [lm.zeros((1, 1))], [one, one])
    >>> y.reshape(-1).tolist()
    [1.0, 2.0, 3.0]
    """
    made = apply(
        "recurrent",
        x,
        *states,
        *weights,
        *(() if lengths is None else (lengths,)),
        cell=cell,
        reverse=reverse,
        has_bias=len(weights) == 4,
        has_lengths=lengths is not None,
    )
    results: tuple[Tensor[Float], ...] = made[: 1 + num_states(cell)]
    return results
