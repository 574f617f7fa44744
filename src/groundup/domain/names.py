"""Names: checked identifiers, suggestions for misspelt ones, and hostile ones made fit to print."""

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import AfterValidator

from groundup.domain.digests import digest_bytes
from groundup.domain.errors import UsageError


def count(number: int, word: str) -> str:
    """Return such as `1 test` or `2 tests`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def number_of(digits: str) -> int:
    """Return the number that *digits* of a stranger are, or 10^15 for more: nothing here has so many."""
    return int(digits) if len(digits) <= 15 else 10**15


def unknown(kind: str, name: str, choices: Iterable[str]) -> str:
    """Return a sentence for an unknown *name* of a *kind*: the nearest choice, and all where they are few."""
    known = sorted(map(str, choices))
    as_typed = {one.casefold(): one for one in known}
    near = difflib.get_close_matches(name.casefold(), as_typed, n=1, cutoff=0.6)
    shown = name if len(name) <= 100 else f"{name[:97]}..."
    if near:
        few = f" There are {', '.join(known)}" if 1 < len(known) <= 6 else ""
        return f"unknown {kind} {shown!r}; did you mean {as_typed[near[0]]!r}?{few}"
    listed = ", ".join(known[:30]) + (", ..." if len(known) > 30 else "")
    return f"unknown {kind} {shown!r}; choose from: {listed or '(none)'}"


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+@-]{0,127}")


def checked_name(value: str) -> str:
    """Return *value* when it is safe as one path component; raise `UsageError` otherwise."""
    if not _NAME.fullmatch(value) or value.endswith((".", ".lock")):
        shown = value if len(value) <= 200 else f"{value[:197]}..."
        raise UsageError(
            f"{shown!r} is not a usable name: use up to 128 letters, digits, '.', '_', '+', '@' and '-', "
            "starting with a letter or digit"
        )
    return value


def _validated(value: str) -> str:
    try:
        return checked_name(value)
    except UsageError as error:
        raise ValueError(str(error)) from error


Name = Annotated[str, AfterValidator(_validated)]
"""A string that is safe as one path component."""


def is_loopback(host: str) -> bool:
    """Whether *host*, a name or an address, can only be this machine."""
    import ipaddress  # few programs ask, and all import this module

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


_CODES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursors
    r"|\x1b[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles and other texts for the terminal
    r"|\x1b[ -/]*[0-~]"
)


def without_codes(text: str) -> str:
    """Return what a terminal would show of *text*: without its escape codes."""
    return _CODES.sub("", text)


def printable(name: str) -> str:
    """Return a hostile *name* fit for a terminal and for UTF-8: undecodable bytes and controls are escaped."""
    return "".join(character if character.isprintable() else _escaped(character) for character in name)


def _escaped(character: str) -> str:
    # How Python holds a byte that is not UTF-8 in a file name.
    if "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) - 0xDC00:02x}"
    return ascii(character)[1:-1]


def shuffled(names: Sequence[str], seed: int) -> tuple[str, ...]:
    """Return *names* in an order that *seed* decides, the same on every machine."""
    return tuple(sorted(names, key=lambda name: digest_bytes(f"{seed}/{name}".encode())))


def names_image_file(image: str) -> bool:
    """Whether *image* is the path of a file or folder: names of images begin with a letter or digit."""
    return image.startswith((".", "/", "~")) or image.endswith(".tar")
