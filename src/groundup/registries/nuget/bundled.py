"""Packages that an SDK asks for of its own accord: targeting packs, apphosts, trimmers, reference assemblies.

The SDK fixes their versions, so they are as new as the SDK, however old the project is.
"""

import re
from collections.abc import Iterator
from pathlib import Path

_FIXED = "Microsoft.NETCoreSdk.BundledVersions.props"
_IMPLICIT = "Sdks/Microsoft.NET.Sdk/targets"
_KNOWN = re.compile(r'<(?:Known\w+Pack|ImplicitPackageReferenceVersion)\s+Include="([\w.]+)"')
_PACKS = re.compile(r'\b\w+(?:PackName|PackNamePatterns?)="([^"]+)"')
_REFERENCES = re.compile(r'<PackageReference\s+Include="([\w.]+)"[^>]*?\bIsImplicitlyDefined="true"', re.DOTALL)
OF_MACHINES = ("powershell",)
"""Programs of the machine that a job runs on: as new as the SDK, too."""
_SYSTEM = "**RID**"
"""Stands in a name for the system that a pack is for, such as `linux-x64`."""


def bundled_names(sdk: Path) -> tuple[str, ...]:
    """Return the names of the packages that the SDK in the folder *sdk* asks for, in lower case.

    `*` stands for any part of a name. Packages that belong to a name, such as those of single frameworks, count.
    """
    names = {pattern.replace(_SYSTEM, "*").lower() for pattern in _patterns(sdk)}
    return tuple(sorted({found for name in names for found in (name, f"{name}.*")}))


def _patterns(sdk: Path) -> Iterator[str]:
    fixed = _text(sdk / _FIXED)
    yield from _KNOWN.findall(fixed)
    for value in _PACKS.findall(fixed):
        yield from value.split(";")
    for path in sorted((sdk / _IMPLICIT).glob("*.targets")):
        yield from _REFERENCES.findall(_text(path))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
