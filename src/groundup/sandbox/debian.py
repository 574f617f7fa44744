"""Debian's own records of a system: which packages are installed, their versions and files, and what they need.

Read from files, so no program of the system is started. A system of another kind has no packages here.
"""

import contextlib
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from groundup.domain.records import Record

RECORDS = "var/lib/dpkg"
_NEEDED = re.compile(r"([a-z0-9][a-z0-9+.-]*)(?::[a-z0-9]+)?\s*(?:\([^)]*\))?$")


class Package(Record):
    """An installed package."""

    name: str
    version: str
    needs: tuple[tuple[str, ...], ...] = ()
    """Each a choice of names."""
    provides: tuple[str, ...] = ()


def packages(root: Path) -> Mapping[str, Package]:
    """Return the packages of the system in *root*, by name."""
    return {one.name: one for one in _read(root / RECORDS / "status")}


def files_of(root: Path, wanted: Collection[str]) -> Mapping[str, list[str]]:
    """Return the files and folders of packages, absolute paths as the packages spell them."""
    found: dict[str, list[str]] = {}
    for listing in sorted((root / RECORDS / "info").glob("*.list")):
        name = listing.name.removesuffix(".list").partition(":")[0]
        if name in wanted:
            with contextlib.suppress(OSError):
                found.setdefault(name, []).extend(listing.read_bytes().decode(errors="replace").splitlines())
    return found


def _read(status: Path) -> Iterator[Package]:
    try:
        text = status.read_bytes().decode(errors="replace")
    except OSError:
        return
    for paragraph in text.split("\n\n"):
        fields = dict(re.findall(r"^([A-Z][\w-]*): (.*)$", paragraph, re.MULTILINE))
        if "Package" in fields and "Version" in fields and fields.get("Status", "installed").endswith("installed"):
            needs = [*_choices(fields.get("Pre-Depends", "")), *_choices(fields.get("Depends", ""))]
            provides = [name for choice in _choices(fields.get("Provides", "")) for name in choice]
            yield Package(
                name=fields["Package"], version=fields["Version"], needs=tuple(needs), provides=tuple(provides)
            )


def _choices(text: str) -> Iterator[tuple[str, ...]]:
    for one in filter(None, map(str.strip, text.split(","))):
        yield tuple(found[1] for part in one.split("|") if (found := _NEEDED.match(part.strip())))
