"""What can be known of a language. Only its names are needed; each further field is one more thing that works."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from groundup.domain.languages import RegistryKind, ToolchainName
from groundup.languages.spelling import as_written

if TYPE_CHECKING:
    from groundup.grammars import Grammar
    from groundup.manifests.sections import ManifestFormat


class LanguageRecord(NamedTuple):
    """What is known of a language."""

    name: str
    """As people write it."""
    suffixes: tuple[str, ...]
    """Of source files, lower case; the usual one first."""
    registry: RegistryKind
    installer: str
    """The program that installs packages, as people write it."""
    canonical: Callable[[str], str] = as_written
    """Returns what is equal for two names exactly when its client takes them for one package."""
    canonical_import: Callable[[str], str] | None = None
    """The same where one of them comes from source code, for a language that spells names otherwise there."""
    formats: "Callable[[], Sequence[ManifestFormat]]" = tuple
    """Returns its manifest formats; where several recognise a file, the first one counts."""
    also_called: tuple[str, ...] = ()
    """Further names that data sets and people use, lower case."""
    also_read: tuple[str, ...] = ()
    """Suffixes of files that are no sources and import packages as well."""
    grammars: "Mapping[str, Grammar]" = MappingProxyType({})
    """Grammars by suffix, where they differ from the one of its own name."""
    test_pattern: str = ""
    """Where its usual frameworks declare a test, as a pattern of lines."""
    lock_files: tuple[str, ...] = ()
    """Generated files that hold nothing but resolved dependencies, by the end of their path."""
    installed_folders: tuple[str, ...] = ()
    """Folders that a restore fills, by name."""
    telltales: tuple[str, ...] = ()
    """Files that may name dependencies, and that a project's own tests and builds may need."""
    sdk: str = ""
    """What runs or compiles it, as people write it."""
    version_keys: tuple[str, ...] = ()
    """Words in the keys of a CI matrix that name versions of that."""
    imports: str = ""
    """A query of its grammar that finds import statements: it names them `statement`, or a `call` inside one."""
    has_central_versions: bool = False
    """Whether a file above several projects may declare what these need."""
    programs: str = ""
    """Its programs in the scripts of CI jobs, as a pattern."""
    setup_actions: str = ""
    """Names of CI actions that set it up, as a pattern."""
    setup_inputs: tuple[str, ...] = ()
    """Their inputs that name versions."""
    toolchain: ToolchainName | None = None
    program: str = ""
    """Whose version counts as the toolchain's."""
    install: str = ""
    """How to get the toolchain."""
