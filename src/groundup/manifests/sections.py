"""Formats made of sections: a scan finds sections and entries with spans, and one engine reads, masks and writes.

A format that derives from `ManifestFormat` implements `scan` (and `create`, when it can make missing sections) and
does not decide which entries stay, go or are new. A `Section` knows how entries are taken out of its syntax
and put into it.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from groundup.domain.errors import MissingExtraError
from groundup.manifests.editing import Edit, Span, Text, edited
from groundup.manifests.records import (
    Dependency,
    DependencyKind,
    Language,
    Manifest,
    ManifestError,
    Note,
    SectionKey,
)


@dataclass(frozen=True)
class ManifestEntry:
    """One declaration and its span: what stands for it and nothing around it."""

    dependency: Dependency
    span: Span


class Section(ABC):
    """A place in a file that holds declarations of one key."""

    key: SectionKey
    entries: Sequence[ManifestEntry]

    @abstractmethod
    def rewriting(self, kept: Collection[int], added: Sequence[Dependency]) -> list[Edit]:
        """Return the edits that leave the entries of index in *kept*, then *added*; comment lines stay."""

    def clearing(self) -> list[Edit]:
        """Return the edits of a mask: nothing declared, and no comment left about what was."""
        return self.rewriting((), ()) if self.entries else []


class Companion(ABC):
    """A place with more about dependencies declared elsewhere, and must go when they go."""

    @abstractmethod
    def pruning(self, is_gone: Callable[[str], bool]) -> list[Edit]:
        """Return the edits that remove the entries of the normalised names that are gone."""


@dataclass(frozen=True)
class Scan:
    """What a format found in a text."""

    source: Text
    sections: Sequence[Section] = ()
    notes: Sequence[Note] = ()
    companions: Sequence[Companion] = ()


def _is_masked(entry: ManifestEntry, section: Section, kinds: frozenset[DependencyKind]) -> bool:
    kind = entry.dependency.kind
    return kind in kinds or (kind is DependencyKind.OPTIONAL and section.key.kind in kinds)


class ManifestFormat(ABC):
    """Reads, masks and writes one kind of file without touching anything but its dependency declarations.

    Bytes in, bytes out: encoding, BOM and line ends are part of what is kept. `path` is the file's path
    relative to the repository; it names the file in errors and may decide kinds (`requirements-dev.txt`).

    Laws: `read(mask(x))` has no dependency of a masked kind, and no optional one in a section of such a kind;
    `write(x, read(x).dependencies) == x`; `mask` and `write` change nothing outside of declarations and the
    sections that hold them; a file that cannot be parsed raises `ManifestError`, nothing else.
    """

    name: str
    """Its key in `formats.FORMATS`."""
    language: Language
    masked_kinds: frozenset[DependencyKind] = frozenset(DependencyKind)
    """The kinds that `mask` removes by default."""

    @abstractmethod
    def recognises(self, path: PurePosixPath) -> bool:
        """Whether a file of this relative path is of this format; decided by the path alone."""

    @abstractmethod
    def scan(self, source: Text) -> Scan:
        """Return sections and notes. Raises `ManifestError`."""

    def _scanned(self, source: Text) -> Scan:
        """Scan; whatever a parser raises for a file that no person would write is that file's fault."""
        try:
            return self.scan(source)
        except (ManifestError, MissingExtraError):
            raise
        except Exception as error:  # the boundary to parsers and strangers' files
            reason = str(error).partition("\n")[0][:120]
            raise source.error(f"cannot be read: {type(error).__name__}: {reason}") from error

    def home(self, dependency: Dependency) -> SectionKey:
        """Return the key of the section that a new declaration of *dependency* belongs to."""
        return SectionKey(dependency.kind, dependency.group)

    def home_in(self, scan: Scan, dependency: Dependency) -> SectionKey:
        """Return the same where it depends on what the file already has."""
        return self.home(dependency)

    def create(self, scan: Scan, key: SectionKey, added: Sequence[Dependency]) -> list[Edit]:
        """Return the edits that make a missing section holding *added*. Raises `ManifestError` if it cannot."""
        where = f"{key.kind} dependencies" + (f" of {key.group!r}" if key.group else "")
        raise scan.source.error(f"has no place for {where}: {added[0].name} cannot be written here")

    def read(self, data: bytes, path: str) -> Manifest:
        """Return what the file declares. Raises `ManifestError`."""
        scan = self._scanned(Text.decode(data, path))
        found = (entry.dependency for section in scan.sections for entry in section.entries)
        return Manifest(format=self.name, dependencies=tuple(found), notes=tuple(scan.notes))

    def mask(self, data: bytes, path: str, kinds: Collection[DependencyKind] | None = None) -> bytes:
        """Remove all declarations of *kinds* (None: `masked_kinds`). Raises `ManifestError`.

        An optional declaration that stands among those of a masked kind goes with them, as `optional = true` does
        in `[dependencies]` and in Poetry's table.
        """
        masked = self.masked_kinds if kinds is None else frozenset(kinds)
        scan = self._scanned(Text.decode(data, path))
        edits: list[Edit] = []
        remaining: set[str] = set()
        for section in scan.sections:
            kept = [i for i, entry in enumerate(section.entries) if not _is_masked(entry, section, masked)]
            remaining.update(section.entries[i].dependency.normalised for i in kept)
            if not kept and (section.entries or section.key.kind in masked):
                edits += section.clearing()
            elif len(kept) < len(section.entries):
                edits += section.rewriting(kept, ())
        for companion in scan.companions:
            edits += companion.pruning(lambda name: name not in remaining)
        return edited(scan.source, edits)

    def write(
        self,
        data: bytes,
        dependencies: Sequence[Dependency],
        path: str,
        kinds: Collection[DependencyKind] | None = None,
    ) -> bytes:
        """Make *dependencies* what the file declares of *kinds* (None: all kinds). Raises `ManifestError`.

        Declarations whose `identity` is among *dependencies* stay byte for byte, others go, missing ones are
        added at the end of their section, which is made when it does not exist.
        """
        scan = self._scanned(Text.decode(data, path))
        concerned = [item for item in dependencies if kinds is None or item.kind in kinds]
        wanted = Counter(item.identity for item in concerned)
        kept: list[list[int]] = []
        for section in scan.sections:
            kept.append([])
            for i, entry in enumerate(section.entries):
                identity = entry.dependency.identity
                if kinds is not None and entry.dependency.kind not in kinds:
                    kept[-1].append(i)
                elif wanted[identity] > 0:
                    wanted[identity] -= 1
                    kept[-1].append(i)
        added: dict[SectionKey, list[Dependency]] = {}
        for item in concerned:
            if wanted[item.identity] > 0:
                wanted[item.identity] -= 1
                added.setdefault(self.home_in(scan, item), []).append(item)
        result = edited(scan.source, self._edits(scan, kept, added))
        # What `_edits` left in `added` has no section yet. Each new one moves what follows it: scan again.
        for key, new in added.items():
            scan = self._scanned(Text.decode(result, path))
            result = edited(scan.source, self.create(scan, key, new))
        return result

    def _edits(
        self, scan: Scan, kept: Sequence[Sequence[int]], added: dict[SectionKey, list[Dependency]]
    ) -> list[Edit]:
        """Return the edits of the sections there are; takes out of *added* what has a section."""
        staying = {new.normalised for items in added.values() for new in items}
        gone: set[str] = set()
        edits: list[Edit] = []
        for section, indices in zip(scan.sections, kept, strict=True):
            new = added.pop(section.key, [])
            if new or len(indices) < len(section.entries):
                edits += section.rewriting(indices, new)
            for i, entry in enumerate(section.entries):
                (staying if i in indices else gone).add(entry.dependency.normalised)
        gone -= staying
        if gone:
            for companion in scan.companions:
                edits += companion.pruning(gone.__contains__)
        return edits
