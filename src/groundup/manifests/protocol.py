"""What every manifest format can do. One sibling module per format implements it; `formats.py` lists them."""

from collections.abc import Collection, Sequence
from pathlib import PurePosixPath
from typing import Protocol

from groundup.manifests.records import Dependency, DependencyKind, Language, Manifest


class ManifestFormat(Protocol):
    """Reads, masks and writes one kind of file without touching anything but its dependency declarations.

    Bytes in, bytes out: encoding, BOM and line ends are part of what is kept. `path` is the file's path
    relative to the repository; it names the file in errors and may decide kinds (`requirements-dev.txt`).

    Laws: `read(mask(x))` has no dependency of a masked kind, and no optional one in a section of such a kind;
    `write(x, read(x).dependencies) == x`; `mask` and `write` change nothing outside of declarations and the
    sections that hold them; a file that cannot be parsed raises `ManifestError`, nothing else.
    """

    @property
    def name(self) -> str:
        """Short name, its key in `formats.FORMATS`."""
        ...

    @property
    def language(self) -> Language:
        """The language it belongs to."""
        ...

    @property
    def masked_kinds(self) -> frozenset[DependencyKind]:
        """The kinds that `mask` removes by default."""
        ...

    def recognises(self, path: PurePosixPath) -> bool:
        """Whether a file of this relative path is of this format; decided by the path alone."""
        ...

    def read(self, data: bytes, path: str) -> Manifest:
        """Return what the file declares. Raises `ManifestError`."""
        ...

    def mask(self, data: bytes, path: str, kinds: Collection[DependencyKind] | None = None) -> bytes:
        """Remove all declarations of *kinds* (None: `masked_kinds`), leaving sections empty."""
        ...

    def write(
        self,
        data: bytes,
        dependencies: Sequence[Dependency],
        path: str,
        kinds: Collection[DependencyKind] | None = None,
    ) -> bytes:
        """Make *dependencies* what the file declares of *kinds* (None: all kinds).

        Declarations whose `identity` is among *dependencies* stay byte for byte, others go, missing ones are
        added at the end of their section, which is made when it does not exist. Raises `ManifestError`.
        """
        ...
