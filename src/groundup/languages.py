"""One record per language: its names, source files, registry and tools. Owns no code for a language.

A table by language that is a fact about the language belongs here. CONTRIBUTING says what a new one needs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

RegistryKind = Literal["pypi", "npm", "crates", "nuget", "maven"]
ToolchainName = Literal["node", "rust", "dotnet"]
"""Toolchains of the host that sandboxes can be given. Python and Java have builders of their own."""


@dataclass(frozen=True, kw_only=True)
class LanguageRecord:
    """What is known of a language."""

    name: str
    """As people write it."""
    suffixes: tuple[str, ...]
    """Of source files, lower case; the usual one first."""
    registry: RegistryKind
    installer: str
    """The program that installs packages, as people write it."""
    toolchain: ToolchainName | None = None
    program: str = ""
    """Whose version counts as the toolchain's."""
    install: str = ""
    """How to get the toolchain."""


LANGUAGES: Mapping[str, LanguageRecord] = {
    "python": LanguageRecord(
        name="Python", suffixes=(".py", ".pyi", ".pyw", ".ipynb"), registry="pypi", installer="pip"
    ),
    "rust": LanguageRecord(
        name="Rust",
        suffixes=(".rs",),
        registry="crates",
        installer="cargo",
        toolchain="rust",
        program="rustc",
        install="install Rust with cargo and put `cargo` and `rustc` on PATH",
    ),
    "javascript": LanguageRecord(
        name="JavaScript",
        suffixes=(".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte"),
        registry="npm",
        installer="npm",
        toolchain="node",
        program="node",
        install="install Node.js with npm and put `node` on PATH",
    ),
    "csharp": LanguageRecord(
        name="C#",
        suffixes=(".cs", ".razor", ".cshtml"),
        registry="nuget",
        installer="dotnet",
        toolchain="dotnet",
        program="dotnet",
        install="install a .NET SDK and put `dotnet` on PATH",
    ),
    "java": LanguageRecord(name="Java", suffixes=(".java",), registry="maven", installer="Maven"),
}
"""In the order in which answers are given."""

TOOLCHAINS: Mapping[ToolchainName, LanguageRecord] = {
    record.toolchain: record for record in LANGUAGES.values() if record.toolchain is not None
}
"""The language of a toolchain."""
