"""The page that lists every operation is what the tool would write now."""

import importlib.util
import re
from types import ModuleType

from tests.architecture.repository import ROOT

LINK = re.compile(r"\]\(\.\./(?P<target>src/[\w/]+\.py)\)")


def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "list_operations", ROOT / "tools" / "list_operations.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_list_of_operations_is_current() -> None:
    written = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    assert written == tool().page(), "run: python tools/list_operations.py"


def test_every_link_of_the_list_is_a_file() -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    targets = LINK.findall(page)
    assert len(targets) > 100
    missing = sorted({target for target in targets if not (ROOT / target).is_file()})
    assert not missing
