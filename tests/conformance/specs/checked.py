"""The op that hands a value on after a check."""

from typing import Any

import numpy as np

import lumus as lm
from lumus.core.dtypes import ALL
from lumus.errors import ArgumentError
from lumus.ops.interop.checked import checked
from lumus.testing.op_spec import OpSpec, elementwise_cases


def handed_on(x: Any) -> Any:
    return checked(x, lm.equal(x, x) | lm.not_equal(x, x), ArgumentError, "never {}")


SPECS = [
    OpSpec(
        name="checked",
        function=handed_on,
        formula=np.array,
        cases=elementwise_cases(),
        dtypes=ALL,
        tolerance=0,
        differentiable=False,
    ),
]
