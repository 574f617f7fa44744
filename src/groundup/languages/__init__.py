"""One folder for each language, with a record of what is known of it; this is their table.

A fact about one language belongs in its folder. Levels of support, each of use without the next:

1. `name`, `suffixes`, `registry`, `installer`: a suite can have tasks in it (Java, Go).
2. `formats`, `canonical`, `lock_files`: its manifests are read, masked, written and compared.
3. A client and a gateway of its registry: names and versions are looked up, and sandboxes may install.
4. `toolchain`, `programs`, `setup_actions`: CI jobs run.
5. An entry of `groundup_infer`: dependencies are inferred from imports.
"""

from collections.abc import Mapping
from typing import get_args

from groundup.domain.languages import DependencyLanguage, SetupKind, ToolchainName
from groundup.languages.csharp import LANGUAGE as CSHARP
from groundup.languages.go import LANGUAGE as GO
from groundup.languages.java import LANGUAGE as JAVA
from groundup.languages.javascript import LANGUAGE as JAVASCRIPT
from groundup.languages.python import LANGUAGE as PYTHON
from groundup.languages.record import LanguageRecord
from groundup.languages.rust import LANGUAGE as RUST

LANGUAGES: Mapping[str, LanguageRecord] = {
    "python": PYTHON,
    "rust": RUST,
    "javascript": JAVASCRIPT,
    "csharp": CSHARP,
    "java": JAVA,
    "go": GO,
}
"""In the order in which answers are given."""

TOOLCHAINS: Mapping[ToolchainName, LanguageRecord] = {
    record.toolchain: record for record in LANGUAGES.values() if record.toolchain is not None
}
"""The language of a toolchain."""
SETUPS: Mapping[SetupKind, LanguageRecord] = {
    kind: record for kind in get_args(SetupKind) if (record := TOOLCHAINS.get(kind, PYTHON)).programs
}
"""The language of what CI jobs can set up."""


def canonical_name(language: DependencyLanguage, name: str) -> str:
    """Return what is equal for two names exactly when a manifest of *language* means one package by both."""
    return LANGUAGES[language].canonical(name)
