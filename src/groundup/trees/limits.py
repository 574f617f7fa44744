"""What one taken-in tree may hold, and what was taken."""

from pydantic import Field

from groundup.domain.records import Record

DROPPED_SHOWN = 20


class TreeLimits(Record):
    """Upper bounds for a tree from a stranger; more is refused as a whole, with a `SubmissionError`."""

    files: int = Field(default=100_000, ge=1, description="files, folders and links together")
    bytes: int = Field(default=2 * 1024**3, ge=0, description="apparent sizes: a hole in a sparse file counts")
    depth: int = Field(default=100, ge=1, description="folders above a file")
    name_bytes: int = Field(default=255, ge=1, le=255, description="of one path component")
    path_bytes: int = Field(default=3500, ge=1, description="of a whole relative path")
    ratio: int = Field(
        default=300,
        ge=1,
        description="unpacked bytes for one packed byte, looked at from 64 MiB on",
    )


class TakenIn(Record):
    """What a copy or an extraction wrote."""

    files: int = Field(description="regular files and links")
    bytes: int
    dropped: tuple[str, ...] = Field(default=(), description="`path: why`, at most 20, made printable")
    dropped_count: int = 0


def told_dropped(taken: TakenIn) -> tuple[str, ...]:
    """Return what was dropped, at most 20, the last saying how many more."""
    if taken.dropped_count <= DROPPED_SHOWN:
        return taken.dropped
    return (*taken.dropped[: DROPPED_SHOWN - 1], f"and {taken.dropped_count - DROPPED_SHOWN + 1} more")


def printable(name: str) -> str:
    """Return a hostile *name* fit for a terminal and for UTF-8: undecodable bytes and controls are escaped."""
    return "".join(character if character.isprintable() else _escaped(character) for character in name)


def _escaped(character: str) -> str:
    # How Python holds a byte that is not UTF-8 in a file name.
    if "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) - 0xDC00:02x}"
    return ascii(character)[1:-1]
