"""ModuleList: modules in a list."""

from __future__ import annotations

from typing import Any

from lumus.nn.containers import ListModule, checked_module
from lumus.nn.module import Module


class ModuleList(ListModule[Module]):
    """Modules in a list, for a forward that walks them. Their names are ``0``, ``1``, ...

    A plain list as an attribute is found as well: this one is a module of its own.

    **Raises.** ArgumentError for an item that is no module.

    >>> import lumus as lm
    >>> blocks = lm.nn.ModuleList(lm.nn.Linear(2, 2, bias=False) for _ in range(2))
    >>> list(blocks.state_dict())
    ['0.weight', '1.weight']
    """

    def _checked(self, item: Any) -> Module:
        return checked_module("ModuleList", item)
