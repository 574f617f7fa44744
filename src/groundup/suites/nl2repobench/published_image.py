"""What a task's published image holds at /workspace: the account that a recipe gives of it, file by file.

A file of the image is the original's, or is made of it by rules to a stated digest, or differs in a way that is
not known, or is the publishers' own. Owns which bytes follow from that; nothing here opens an image.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

from pydantic import Field

from groundup.domain.errors import TaskError
from groundup.domain.records import Record
from groundup.trees.edits import FileEdit, crlf, sha256_of

Standing = Literal["same", "crlf", "edited", "differs", "added", "empty", "absent"]
_OF_IMPORTS = frozenset({"star-imports", "star-imports-noted", "import-into"})
_OF_FEWER_TESTS = frozenset({"skip", "without-definition"})


class PublishedFiles(Record):
    """The files of one kind, tests or package declarations; paths as the original has them."""

    same: dict[str, str] = Field(
        default={}, description="the original's file -> its SHA-256, empty where only an audit says so"
    )
    crlf: dict[str, str] = Field(
        default={}, description="the original's file with the line ends of Windows -> SHA-256 of that, or empty"
    )
    edited: dict[str, FileEdit] = Field(default={}, description="what rules make of the original's file")
    differs: dict[str, str] = Field(default={}, description="file, by no known rule -> SHA-256, where it is known")
    added: dict[str, str] = Field(default={}, description="the publishers' own file -> SHA-256, where it is known")
    empty: tuple[str, ...] = Field(default=(), description="empty files that the original lacks")
    absent: tuple[str, ...] = Field(default=(), description="files of the original that the image lacks")
    all_named: bool = Field(default=False, description="no other file of this kind lies in the image")

    def standings(self) -> Iterator[tuple[str, Standing, str]]:
        """Yield each file with what it is and its SHA-256, which may be empty."""
        of_digests: tuple[tuple[Standing, dict[str, str]], ...] = (
            ("same", self.same),
            ("crlf", self.crlf),
            ("differs", self.differs),
            ("added", self.added),
        )
        for standing, digests in of_digests:
            yield from ((path, standing, digest) for path, digest in digests.items())
        yield from ((path, "edited", edit.sha256) for path, edit in self.edited.items())
        yield from ((path, "empty", sha256_of(b"")) for path in self.empty)
        yield from ((path, "absent", "") for path in self.absent)

    @property
    def by_rule(self) -> int:
        """How many files are known to the byte."""
        return len(self.same) + len(self.crlf) + len(self.edited) + len(self.empty)

    @property
    def unknown(self) -> int:
        """How many files the image has in another form than can be made here."""
        return len(self.differs) + len(self.added)

    @property
    def is_proven(self) -> bool:
        """Whether every file of the image is the original's, or follows from it by rules."""
        return self.by_rule > 0 and not self.unknown

    def content(self, path: str, original: bytes) -> bytes:
        """Return what the image holds at *path*, as far as it is known. Raises `TaskError`."""
        if path in self.edited:
            return self.edited[path].of(original, path)
        if path in self.crlf:
            return _checked(crlf(original), self.crlf[path], path)
        return _checked(original, self.same.get(path, ""), path)

    def loosened(self) -> dict[str, FileEdit]:
        """Return the files that only import the library otherwise: a missing name loses no whole file there."""
        return {path: edit for path, edit in sorted(self.edited.items()) if _only_imports(edit)}

    def told(self) -> str:
        """Say in few words what a run with these files has run."""
        if not self.by_rule and not self.unknown:
            return "upstream's"
        if not self.unknown:
            return "published"
        return f"published but {self.unknown} of {self.by_rule + self.unknown} files"


def _only_imports(edit: FileEdit) -> bool:
    names = {name for name, *_ in edit.steps}
    return bool(names & _OF_IMPORTS) and not names & _OF_FEWER_TESTS


def _checked(content: bytes, wanted: str, path: str) -> bytes:
    if wanted and (found := sha256_of(content)) != wanted:
        raise TaskError(f"{path}: is {found[:12]} and the recipe says {wanted[:12]}; mend the recipe")
    return content


class PublishedImage(Record):
    """What is known of a task's image."""

    digest: str = Field(default="", description="of the image's manifest; empty: not known")
    revision: str = Field(
        default="", description="the commit of which its files are, where it is another than the source's"
    )
    tree_digest: str | None = Field(default=None, description="of the tree of that commit")
    tests: PublishedFiles = PublishedFiles()
    packages: PublishedFiles = PublishedFiles()

    def content(self, path: str, original: bytes) -> bytes:
        """Return what the image holds at *path*. Raises `TaskError`."""
        kind = self.packages if path in {name for name, *_ in self.packages.standings()} else self.tests
        return kind.content(path, original)

    @property
    def empty(self) -> tuple[str, ...]:
        return (*self.tests.empty, *self.packages.empty)

    @property
    def absent(self) -> frozenset[str]:
        return frozenset((*self.tests.absent, *self.packages.absent))


NOTHING_KNOWN = PublishedImage()


def graded_edits(image: PublishedImage | None) -> Mapping[str, FileEdit]:
    """Return how `strict` changes the original's tests.

    It takes the published form where that is fairer: imports that lose one test for a missing name, and not a
    whole file. Published skips take tests away that the original passes, so there its own file stays, and line
    ends change nothing. Tests of another revision are no tests of this original.
    """
    return {} if image is None or image.revision else image.tests.loosened()
