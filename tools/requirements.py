"""Print the requirements of pyproject.toml, one a line: `requirements.py build runtime cli dev`.

`build` is what the build backend needs, `runtime` what lumus itself needs, any other word an extra.
Installing them first lets the package be built without a fresh, isolated environment each time, so
the build folder stays valid and only changed sources are compiled again.
"""

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

SELF_REFERENCE = re.compile(r"^lumus\[(?P<extras>[^\]]+)\]$")


def requirements(group: str, pyproject: dict[str, Any]) -> list[str]:
    project = pyproject["project"]
    if group == "build":
        return list(pyproject["build-system"]["requires"])
    if group == "runtime":
        return list(project["dependencies"])
    extras = project["optional-dependencies"]
    if group not in extras:
        known = ", ".join(["build", "runtime", *extras])
        sys.exit(f"requirements.py: no group {group!r}; there are {known}")
    lines: list[str] = []
    for line in extras[group]:
        if match := SELF_REFERENCE.match(line):
            for extra in match["extras"].split(","):
                lines += requirements(extra.strip(), pyproject)
        else:
            lines.append(line)
    return lines


def main() -> None:
    path = Path(__file__).parent.parent / "pyproject.toml"
    pyproject = tomllib.loads(path.read_text(encoding="utf-8"))
    lines = [line for group in sys.argv[1:] for line in requirements(group, pyproject)]
    print("\n".join(dict.fromkeys(lines)))


if __name__ == "__main__":
    main()
