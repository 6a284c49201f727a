"""epilogue: large matrix products finish their results while these are in the cache.

What an elementwise equation does to a product (an activation, a scale, a shift of the columns)
reads and writes the whole result again. As the epilogue of the product it runs over each block when
the block is computed. Bits stay: a block has the dtype that the result would have been stored in.

An equation becomes an epilogue where that pays, which is where its time is the memory's
(docs/performance.md has the figures):
- the result is larger than caches are. Within these an equation takes as long as it computes, and
  over the short rows of blocks it computes a little slower;
- it is cheap, and of float32 or float64: half types are converted before and after;
- what else it reads is one element, or one for each column. Large operands are read faster in a row
  than in blocks.
And where it is right: nothing else reads the product, the shape and the dtype are the product's,
the other operands are there when the product is computed, and the result is not written in place to
an operand of the product.
"""

from __future__ import annotations

from typing import Any

from lumus.compile.fusion.joiner import Joiner, Part
from lumus.compile.passes.operands import meets_columns
from lumus.core.dtypes import float32, float64
from lumus.core.kernels.elementwise import Elementwise
from lumus.core.kernels.product import MatMul, WithEpilogue
from lumus.core.scalar.expressions import Expression, substitute
from lumus.core.scalar.nodes import Input, Scalar
from lumus.trace.program import Equation, Program, Var

MIN_BYTES = 1 << 25
"""Of the result."""

MAX_COST = 3
"""Of an element, in simple instructions."""

MAX_INPUTS = 8
"""The product included; what the native kernel takes."""


def epilogue(program: Program) -> Program:
    """Joins elementwise equations into the products that they finish."""
    return _State(program).program()


class _State:
    def __init__(self, source: Program) -> None:
        self.source = source
        self.joiner = Joiner()
        self.makers: dict[Var, int] = {}
        self.num_readers: dict[Var, int] = {}
        for at, one in enumerate(source.equations):
            self.makers.update(dict.fromkeys(one.outputs, at))
            for var in set(one.inputs):
                self.num_readers[var] = self.num_readers.get(var, 0) + 1
        self.results = set(source.results())
        self.targets = {write.value: write.target for write in source.writes}
        self.expressions: dict[Any, Expression] = {}

    def program(self) -> Program:
        """The program with each epilogue in the place of its product."""
        joined: dict[int, Equation] = {}
        gone: set[int] = set()
        for at, one in enumerate(self.source.equations):
            product = self._product_of(one)
            if product is not None:
                joined[product] = self._joined(self.source.equations[product], one)
                gone.add(at)
        if not gone:
            return self.source
        equations = enumerate(self.source.equations)
        return self.source.with_equations(
            [joined.get(at, one) for at, one in equations if at not in gone]
        )

    def _product_of(self, one: Equation) -> int | None:
        """The number of the product that an equation finishes."""
        if not isinstance(one.kernel, Elementwise) or len(one.outputs) != 1:
            return None
        at = max([self.makers.get(var, -1) for var in one.inputs], default=-1)
        if at < 0 or not isinstance(self.source.equations[at].kernel, MatMul):
            return None
        product = self.source.equations[at]
        return at if self._is_right(one, product) and self._pays(one, product) else None

    def _is_right(self, one: Equation, product: Equation) -> bool:
        (made,), (result,) = product.outputs, one.outputs
        return (
            self.num_readers[made] == 1
            and made not in self.results
            and result.spec is made.spec
            and result.spec.ndim > 0
            and self.targets.get(result) not in product.inputs
        )

    def _pays(self, one: Equation, product: Equation) -> bool:
        (made,) = product.outputs
        others = _others(one, made)
        if made.spec.nbytes < MIN_BYTES or made.spec.dtype not in (float32, float64):
            return False
        assert isinstance(one.kernel, Elementwise)
        cost = self.joiner.cost(Part(one.kernel.expression, one.inputs, one.outputs))
        return (
            cost is not None
            and cost <= MAX_COST
            and len(others) < MAX_INPUTS
            and all(meets_columns(made.spec, var.spec) for var in others)
        )

    def _joined(self, product: Equation, one: Equation) -> Equation:
        assert isinstance(one.kernel, Elementwise)
        assert isinstance(product.kernel, MatMul)
        (made,) = product.outputs
        others = _others(one, made)
        places = tuple([0 if var is made else 1 + others.index(var) for var in one.inputs])
        expression = self._ordered(one.kernel.expression, places, 1 + len(others))
        return Equation(
            product.op,
            product.attrs,
            WithEpilogue(product.kernel, expression),
            (*product.inputs, *others),
            one.outputs,
            tuple(dict.fromkeys((*product.sites, *one.sites))),
        )

    def _ordered(self, given: Expression, places: tuple[int, ...], count: int) -> Expression:
        """The expression with its inputs in these places; for the same ones the same object."""
        key = (given, places)
        if key not in self.expressions:
            nodes: list[Scalar] = [Input(place) for place in places]
            names = tuple([f"x{place}" for place in range(count)])
            self.expressions[key] = Expression(names, substitute(given.outputs, nodes))
        return self.expressions[key]


def _others(one: Equation, made: Var) -> list[Var]:
    """What an equation reads besides a product, each once."""
    return [var for var in dict.fromkeys(one.inputs) if var is not made]
