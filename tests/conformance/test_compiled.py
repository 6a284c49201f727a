"""Every op compiled against eager: values in every dtype and layout, gradients."""

import pytest

import lumus as lm
from lumus.testing.compiled import check_compiled
from lumus.testing.op_spec import OpSpec
from lumus.testing.sweep import LAYOUTS
from tests.conformance.table import SPECS


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_compiled_is_eager(spec: OpSpec) -> None:
    for dtype in spec.dtypes:
        layouts = tuple(LAYOUTS) if dtype in (lm.float32, lm.int64) else ("dense",)
        for layout in layouts:
            check_compiled(spec, dtype, layout=layout)
