"""Every op compiled against eager: values in every dtype and layout, gradients."""

import pytest

import lumus as lm
from lumus.testing.compiled import check_compiled
from lumus.testing.op_spec import OpSpec
from lumus.testing.sweep import LAYOUTS, cases_of
from tests.conformance.table import SPECS

# The shape of their result, or what Python does with it, depends on values in some of their cases.
READ_VALUES = {
    "unique": "as many results as there are values",
    "unique index": "as many results as there are values",
    "unique inverse": "as many results as there are values",
    "unique counts": "as many results as there are values",
    "bincount": "as long as the largest value",
    "getitem": "a mask selects as many elements as it has True",
    "at.set": "a mask selects as many elements as it has True",
    "at.add": "a mask selects as many elements as it has True",
    "setitem": "a mask selects as many elements as it has True",
    "one_hot": "without num_classes as many as the largest class",
    "embedding_bag": "the sizes of bags decide how their maxima are computed",
    "svd": "the spec fixes the signs by values",
    "eigh": "the spec fixes the signs by values",
}


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_compiled_is_eager(spec: OpSpec) -> None:
    reads = spec.name in READ_VALUES
    held = tried = 0
    for dtype in spec.dtypes:
        layouts = tuple(LAYOUTS) if dtype in (lm.float32, lm.int64) else ("dense",)
        for layout in layouts:
            held += check_compiled(spec, dtype, layout=layout, reads_values=reads)
            tried += len(cases_of(spec, dtype))
    assert reads == (held < tried)
