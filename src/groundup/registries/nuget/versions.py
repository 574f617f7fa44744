"""Versions as NuGet writes and orders them: `1.0` is `1.0.0`, capitals and build metadata mean nothing."""

import re

_VERSION = re.compile(
    r"(\d{1,10})(?:\.(\d{1,10}))?(?:\.(\d{1,10}))?(?:\.(\d{1,10}))?(?:-([0-9A-Za-z.-]{1,100}))?(?:\+[0-9A-Za-z.-]*)?"
)
Order = tuple[tuple[int, ...], bool, tuple[tuple[bool, int, str], ...]]


def normalised(text: str) -> str | None:
    """Return a version as addresses have it, in lower case; None for what is no version."""
    match = _VERSION.fullmatch(text)
    if match is None:
        return None
    numbers = [int(number or 0) for number in match.groups()[:4]]
    if not numbers[3]:
        del numbers[3]
    release = ".".join(map(str, numbers))
    return f"{release}-{match[5].lower()}" if match[5] else release


def order(version: str) -> Order:
    """Return the key by which a normalised version is sorted: a release comes after its pre-releases."""
    release, _, label = version.partition("-")
    numbers = tuple(int(number) for number in release.split("."))
    parts = label.split(".") if label else []
    keys = tuple((not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts)
    return (*numbers, 0)[:4], not label, keys
