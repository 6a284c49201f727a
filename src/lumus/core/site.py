"""Call sites: which line of the user's program made an op."""

from __future__ import annotations

import linecache
import os
from pathlib import Path
from types import CodeType

from lumus import _native
from lumus.core.frozen import frozen

Site = _native.Site


@frozen
class Line:
    """A line of a program that is not here: what a file says of where an op was called."""

    file: str
    number: int


# What users call is the library; what calls it for them (lumus.train, lumus.cli) is a user, too.
_LIBRARY = (
    "autograd",
    "compile",
    "core",
    "data",
    "devices",
    "inspect",
    "io",
    "nn",
    "ops",
    "optim",
    "testing",
    "trace",
)
_ROOT = Path(__file__).resolve().parent.parent
INTERNAL_PREFIXES = tuple(f"{_ROOT / room}{os.sep}" for room in _LIBRARY)
_native.set_internal_prefixes(INTERNAL_PREFIXES)

call_site = _native.call_site
"""The innermost frame outside lumus, as its code object and instruction offset.

No frame is kept.
"""


def line_of(site: Site | Line | None) -> tuple[str, int]:
    """File and line number of a call site."""
    if site is None:
        return ("<unknown>", 0)
    if isinstance(site, Line):
        return (site.file, site.number)
    return (site.code.co_filename, _line_number(site.code, site.lasti))


def _line_number(code: CodeType, lasti: int) -> int:
    for start, end, line in code.co_lines():
        if start <= lasti < end and line is not None:
            return line
    return code.co_firstlineno


def describe(site: Site | Line | None) -> str:
    """`file:line`, with a short path for what lies below the current folder or in lumus itself."""
    file, line = line_of(site)
    if site is None:
        return "an unknown line"
    if isinstance(site, Line):
        return f"{file}:{line}"
    try:
        relative = os.path.relpath(file)
    except ValueError:  # another drive
        relative = file
    if relative.startswith(".."):
        relative = file.removeprefix(f"{_ROOT.parent}{os.sep}")
    return f"{relative}:{line}"


def described_line(site: Site | Line | None) -> str:
    """`file:line: text of the line`, without a text that cannot be read."""
    text = source_line(site) if isinstance(site, Site) else ""
    return f"{describe(site)}: {text}" if text else describe(site)


def source_line(site: Site | None) -> str:
    """The text of the line, stripped; empty when the source is not there."""
    file, line = line_of(site)
    return linecache.getline(file, line).strip()
