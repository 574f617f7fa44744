"""Where the published data of benchmarks lies on this machine, and where it was published.

`settings.data/<suite>`, and further data sets under `settings.data/@<name>/<suite>`: SUITE@NAME is the suite with
one. `pulling` brings it there. SUITE+WORD is the suite in another form, with the same data.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from pydantic import Field, ValidationError

from groundup.domain.errors import UsageError
from groundup.domain.names import checked_name
from groundup.domain.records import Record
from groundup.settings import Settings

ORIGIN_FILE = "origin.json"


class PublishedRepository(Record):
    """Where a benchmark's data is published."""

    address: str = Field(description="of the Git repository")
    commit: str = Field(pattern=r"^[0-9a-f]{7,40}$")
    folder: str = Field(default="", description="the part of the repository that is the data")
    licence: str = Field(description="as its publishers state it, for the user to read")

    def at(self, commit: str) -> "PublishedRepository":
        """Return the same repository at another commit; raises `UsageError` when that is no commit's name."""
        if not re.fullmatch(r"[0-9a-f]{7,40}", commit):
            raise UsageError(f"{commit!r} names no commit; give 7 to 40 hexadecimal digits, in lower case")
        return self.but(commit=commit)


class PublishedFile(Record):
    """One file of a release; an archive is unpacked into a folder of its name without its ending."""

    address: str
    sha256: str | None = Field(default=None, description="None: its publishers name none")

    @property
    def name(self) -> str:
        return self.address.rpartition("/")[2]


class PublishedRelease(Record):
    """Files that a benchmark's publishers attach to a release."""

    address: str = Field(description="where people find them")
    files: tuple[PublishedFile, ...]
    licence: str = Field(description="as its publishers state it, for the user to read")


class DataOrigin(Record):
    """Where the data at hand came from."""

    source: str
    commit: str | None = Field(description="in full; None: a folder was taken")
    version: str | None = Field(default=None, description="which release the suite found it to be")
    digest: str
    files: int


def origin_of(suite: str, settings: Settings) -> DataOrigin | None:
    """Return where the suite's data came from, or None when it was never pulled. Raises `UsageError`."""
    path = settings.data / suite / ORIGIN_FILE
    try:
        return DataOrigin.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise UsageError(
            f"{path} cannot be read; fetch the data again with `groundup data pull {suite}`"
        ) from error


def data_sets(settings: Settings) -> list[str]:
    """Return the names of the further data sets, of whatever suite, as SUITE@NAME."""
    places = [origin.parent for origin in settings.data.glob(f"@*/*/{ORIGIN_FILE}")]
    return sorted(f"{place.name}{place.parent.name}" for place in places)


def split_variants(name: str) -> tuple[str, tuple[str, ...]]:
    """Return *name* without the words of SUITE+WORD or SUITE+WORD@NAME, and these words, sorted."""
    if "/" in name:
        return name, ()
    suite, at, chosen = (name, "", "") if ":" in name else name.partition("@")
    suite, *words = suite.split("+")
    return f"{suite}{at}{chosen}", tuple(sorted({*words}))


def with_variants(name: str, words: Iterable[str]) -> str:
    """Return *name* with these *words* besides those that it has."""
    plain, known = split_variants(name)
    suite, at, chosen = plain.partition("@")
    return "+".join((suite, *sorted({*known, *words}))) + at + chosen


def with_data_set(name: str, settings: Settings) -> tuple[str, Settings]:
    """Return the suite that SUITE or SUITE@NAME means, and the settings by which it finds that data.

    Raises `UsageError` for what is no name.
    """
    plain, _ = split_variants(name)
    suite, at, chosen = plain.partition("@")
    if not at:
        return plain, settings
    return suite, settings.but(data_dir=settings.data / f"@{checked_name(chosen)}")


def data_folder(suite: str, settings: Settings) -> Path | None:
    """Return where the suite's data lies, or None when it was never pulled."""
    folder = settings.data / suite / "data"
    return folder if folder.is_dir() else None
