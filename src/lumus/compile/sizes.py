"""Axes whose lengths vary: plans for them that do not count.

They share an arena, so that one more length is one more list of steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lumus.compile.call import Call
from lumus.compile.variant import Variant
from lumus.errors import ArgumentError

MAX_SIZES = 1024
"""How many lengths of a family are kept, those that were used last: a bound against a leak."""


class Sizes:
    """Which arguments have an axis that varies; calls that differ in it alone are a family."""

    def __init__(self, axes: Mapping[str, int]) -> None:
        self._axes = dict(axes)
        self._families: dict[Any, dict[Any, None]] = {}  # the keys of the calls of each

    def clear(self) -> None:
        """Forgets all families."""
        self._families.clear()

    def num_families(self, call: Call, variants: Mapping[Any, list[Variant]]) -> int:
        """How many specialisations there are besides those of other lengths in this call's family.

        Those of its own length hold no longer: another would be one more.
        """
        if not self._axes:
            return sum(map(len, variants.values()))
        others = len(self._families) - (self._family(call) in self._families)
        return others + len(variants.get(call.key, ()))

    def make_room(self, call: Call, variants: dict[Any, list[Variant]]) -> list[Variant]:
        """Takes a call into its family, and out of `variants` the length used longest ago."""
        if not self._axes:
            return []
        known = self._families.setdefault(self._family(call), {})
        gone: list[Variant] = []
        if call.key not in known and len(known) >= MAX_SIZES:
            oldest = min(known, key=lambda key: max(one.info.uses.last for one in variants[key]))
            gone = variants.pop(oldest)
            del known[oldest]
        known[call.key] = None
        return gone

    def _family(self, call: Call) -> Any:
        kinds: list[Any] = []
        for label, (spec, layout, leaf) in zip(call.labels(), call.kinds, strict=True):
            axis = self._axes.get(label)
            if axis is None:
                kinds.append((spec, layout, leaf))
                continue
            if not -spec.ndim <= axis < spec.ndim:
                raise ArgumentError(
                    f"compile: {label} has shape {spec.shape}, so no axis {axis} that could vary"
                )
            shape = list(spec.shape)
            shape[axis] = -1
            kinds.append((tuple(shape), spec.dtype, spec.device, leaf))
        return (call.tree, call.records, call.nodes(), call.first, tuple(kinds))
