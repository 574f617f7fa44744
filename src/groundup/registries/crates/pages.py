"""The pages of a sparse index: read and cut off at a time. Pure.

A page has one line of JSON for each version of a crate. Lines are handed on as they are: an index may say more
than is known here.
"""

import json
import re
from datetime import datetime

from groundup.domain.records import Record
from groundup.registries.client import Published, instant

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_VERSION = re.compile(r"[0-9A-Za-z.+-]{1,200}")


class CratePageError(Exception):
    """What an index sent cannot be understood."""


class CrateVersion(Published):
    """One version of a crate: what is needed of its line, and the line."""

    name: str
    version: str
    sha256: str
    yanked: bool
    line: str


class CratePage(Record):
    """All versions of a crate."""

    versions: tuple[CrateVersion, ...]

    def by(self, cutoff: datetime | None) -> "CratePage":
        """Return the page with what is known to be older than *cutoff* only.

        An index does not say when a version was yanked. Where all that is left of a compatible series is yanked
        and a later version replaced it, the newest one is offered as it was: Cargo had nothing else to take.
        """
        if cutoff is None:
            return self
        kept = [found for found in self.versions if found.published_by(cutoff)]
        served = {_series(found.version) for found in kept if not found.yanked}
        replaced = {_series(found.version) for found in self.versions if not found.yanked} - served
        last = {_series(found.version): found for found in kept if _series(found.version) in replaced}
        return CratePage(versions=tuple(_offered(found) if found in last.values() else found for found in kept))

    def text(self) -> bytes:
        """Return it as an index serves it."""
        return "".join(f"{found.line}\n" for found in self.versions).encode()


def is_name(name: str) -> bool:
    """Whether a crate could have this name."""
    return _NAME.fullmatch(name) is not None


def same_crate(name: str) -> str:
    """Return what all spellings of a name have in common: indexes take `-` and `_` for the same."""
    return name.lower().replace("_", "-")


def place(name: str) -> str:
    """Return where the page of a crate lies in an index."""
    name = name.lower()
    if len(name) <= 2:
        return f"{len(name)}/{name}"
    if len(name) == 3:
        return f"3/{name[0]}/{name}"
    return f"{name[:2]}/{name[2:4]}/{name}"


def parse_page(body: bytes) -> CratePage:
    """Read a page. Raises `PageError`."""
    try:
        return CratePage(versions=tuple(_version(line) for line in body.decode().splitlines() if line.strip()))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CratePageError("it is no page of a sparse index") from error


def _series(version: str) -> tuple[str, ...]:
    """Return what Cargo takes for compatible with a version: up to its first number that is not 0."""
    release, _, pre = version.partition("+")[0].partition("-")
    numbers = release.split(".")
    leading = next((at for at, number in enumerate(numbers) if number != "0"), len(numbers) - 1)
    return (*numbers[: leading + 1], pre)


def _offered(found: CrateVersion) -> CrateVersion:
    line = json.dumps({**json.loads(found.line), "yanked": False}, separators=(",", ":"))
    return found.but(yanked=False, line=line)


def _version(line: str) -> CrateVersion:
    row = json.loads(line)
    name, version, sha256 = row["name"], row["vers"], row["cksum"]
    if not _NAME.fullmatch(name) or not _VERSION.fullmatch(version) or not _SHA256.fullmatch(sha256):
        raise ValueError(line)
    return CrateVersion(
        name=name,
        version=version,
        sha256=sha256,
        yanked=bool(row.get("yanked")),
        published=instant(row.get("pubtime")),
        line=line.strip(),
    )
