"""What all tests share: Hypothesis without deadlines, with the same examples in every CI run."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "lumus",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("lumus")
