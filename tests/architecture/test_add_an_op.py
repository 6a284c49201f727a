"""docs/add-an-op.md: its code blocks are an operation that passes the conformance checks."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest

import lumus as lm
from lumus.core.dispatch import apply
from lumus.core.op import OPS
from lumus.testing.op_spec import Domain, Edge, OpSpec, elementwise_cases
from lumus.testing.sweep import check_edge, check_forward, check_gradients
from tests.architecture.repository import ROOT

PAGE = (ROOT / "docs" / "add-an-op.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def signed_square() -> Iterator[OpSpec]:
    op_file, spec_entry = BLOCKS
    scope: dict[str, object] = {"__name__": "signed_square_of_the_page"}
    try:
        exec(compile(op_file, "add-an-op.md", "exec", dont_inherit=True), scope)
        names = {
            "OpSpec": OpSpec,
            "Domain": Domain,
            "Edge": Edge,
            "elementwise_cases": elementwise_cases,
            "apply": apply,
            "np": np,
        }
        exec(compile(spec_entry, "add-an-op.md", "exec", dont_inherit=True), names)
        yield names["SPEC"]
    finally:
        OPS.pop("signed_square", None)


def test_page_op_computes_and_differentiates(signed_square: OpSpec) -> None:
    x = lm.tensor([1.0, -3.0], requires_grad=True)
    y = apply("signed_square", x)
    assert y.tolist() == [1.0, -9.0]
    assert y.sum().backward()[x].tolist() == [2.0, 6.0]


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_page_spec_holds_on_both_devices(signed_square: OpSpec, device: str) -> None:
    for dtype in signed_square.dtypes:
        check_forward(signed_square, dtype, device)
    check_gradients(signed_square, device)
    for edge in signed_square.edges:
        check_edge(signed_square, edge, device)
