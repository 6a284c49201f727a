"""What all tests share: Hypothesis without deadlines, with the same examples in every CI run."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

import lumus as lm

settings.register_profile(
    "lumus",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("lumus")


@pytest.fixture
def keeps_denormals() -> Iterator[None]:
    """Results as NumPy has them, where NumPy is the oracle or a number is below the normal ones."""
    flushes = lm.flushes_denormal()
    lm.set_flush_denormal(False)
    yield
    if flushes:
        lm.set_flush_denormal(True)
