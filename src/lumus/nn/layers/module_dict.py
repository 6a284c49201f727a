"""ModuleDict: modules by name."""

from __future__ import annotations

from typing import Any

from lumus.nn.containers import DictModule, checked_module
from lumus.nn.module import Module


class ModuleDict(DictModule[Module]):
    """Modules by name, in the order in which they were put in. Their names are their keys.

    **Raises.** ArgumentError for an item that is no module, and for a key that is empty, has a dot
    or is no string.

    >>> import lumus as lm
    >>> heads = lm.nn.ModuleDict({"class": lm.nn.Linear(2, 3), "box": lm.nn.Linear(2, 4)})
    >>> list(heads.state_dict())
    ['class.weight', 'class.bias', 'box.weight', 'box.bias']
    """

    def _checked(self, item: Any) -> Module:
        return checked_module("ModuleDict", item)
