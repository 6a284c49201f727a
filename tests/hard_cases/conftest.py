"""The hard cases run on the CPU and on the reference device, which must agree on each of them."""

import pytest


@pytest.fixture(params=["cpu", "reference"])
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)
