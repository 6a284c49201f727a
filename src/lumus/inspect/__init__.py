"""Looking at graphs, memory and models. Reads only; changes nothing."""

from lumus.inspect.check_finite import check_finite
from lumus.inspect.find_nonfinite import NonFinite, find_nonfinite

__all__ = ["NonFinite", "check_finite", "find_nonfinite"]
