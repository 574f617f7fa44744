"""One record per language: its names, source files, registry and tools. Owns no code for a language.

A table by language that is a fact about the language belongs here. CONTRIBUTING says what a new one needs.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

DependencyLanguage = Literal["python", "rust", "javascript", "csharp"]
"""The languages whose manifests and imports are understood."""
RegistryKind = Literal["pypi", "npm", "crates", "nuget", "maven"]
ToolchainName = Literal["node", "rust", "dotnet"]
"""Toolchains of the host that sandboxes can be given. Python and Java have builders of their own."""
SetupKind = Literal["python", ToolchainName]
"""What CI jobs set up."""


class LanguageRecord(NamedTuple):
    """What is known of a language."""

    name: str
    """As people write it."""
    suffixes: tuple[str, ...]
    """Of source files, lower case; the usual one first."""
    registry: RegistryKind
    installer: str
    """The program that installs packages, as people write it."""
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


LANGUAGES: Mapping[str, LanguageRecord] = {
    "python": LanguageRecord(
        name="Python",
        suffixes=(".py", ".pyi", ".pyw", ".ipynb"),
        registry="pypi",
        installer="pip",
        lock_files=(
            "poetry.lock",
            "uv.lock",
            "pdm.lock",
            "Pipfile.lock",
            "pylock.toml",
            "pylock.*.toml",
            "pixi.lock",
            "conda-lock.yml",
            "requirements*.lock",
            "*.egg-info/requires.txt",
        ),
        telltales=("tox.ini", "noxfile.py", "tasks.py", "meta.yaml", "*.spec", "pixi.toml"),
        sdk="Python",
        version_keys=("python", "py", "version"),
        imports="(import_statement) @statement (import_from_statement) @statement",
        programs="python3?|pip3?|pipx|tox|nox|poetry|pdm|hatch|uv|uvx|pytest|pipenv",
        setup_actions=r"setup-(?:python|uv|pdm|cached-uv|miniconda|micromamba)|deadsnakes/action",
        setup_inputs=("python-version",),
    ),
    "rust": LanguageRecord(
        name="Rust",
        suffixes=(".rs",),
        registry="crates",
        installer="cargo",
        lock_files=("Cargo.lock", "Cargo.toml.orig", "Cargo.Bazel.lock"),
        telltales=("deny.toml", "cross.toml", "*.nix"),
        sdk="Rust",
        version_keys=("rust", "toolchain", "version"),
        imports="(use_declaration) @statement (extern_crate_declaration) @statement",
        has_central_versions=True,
        programs="cargo|rustc|rustup|maturin",
        setup_actions="rust-toolchain|setup-rust|actions-rs/toolchain",
        setup_inputs=("toolchain", "rust-version", "channel"),
        toolchain="rust",
        program="rustc",
        install="install Rust with cargo and put `cargo` and `rustc` on PATH",
    ),
    "javascript": LanguageRecord(
        name="JavaScript",
        suffixes=(".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte"),
        registry="npm",
        installer="npm",
        lock_files=(
            "package-lock.json",
            "npm-shrinkwrap.json",
            "yarn.lock",
            "pnpm-lock.yaml",
            "bun.lock",
            "bun.lockb",
            "deno.lock",
            "shrinkwrap.yaml",
            ".pnp.cjs",
            ".pnp.js",
            ".pnp.data.json",
        ),
        installed_folders=("node_modules", "bower_components"),
        telltales=("bower.json", "lerna.json", "renovate.json", ".ncurc*"),
        sdk="Node.js",
        version_keys=("node", "version"),
        imports="""
(import_statement) @statement
(export_statement source: (string)) @statement
(call_expression function: (import)) @call
(call_expression function: (identifier) @function (#eq? @function "require")) @call
""",
        programs="node|npm|npx|yarn|pnpm|corepack|nvm",
        setup_actions="setup-node",
        setup_inputs=("node-version",),
        toolchain="node",
        program="node",
        install="install Node.js with npm and put `node` on PATH",
    ),
    "csharp": LanguageRecord(
        name="C#",
        suffixes=(".cs", ".razor", ".cshtml"),
        registry="nuget",
        installer="dotnet",
        lock_files=(
            "packages.lock.json",
            "project.assets.json",
            "paket.lock",
            "*.deps.json",
            "*.nuget.g.props",
            "*.nuget.g.targets",
            "*.nuget.dgspec.json",
            "project.nuget.cache",
        ),
        installed_folders=("obj", "bin/Debug", "bin/Release"),
        telltales=("*.cake", "paket.dependencies", "paket.references", "NuGet.config"),
        sdk=".NET",
        version_keys=("dotnet", "framework", "version"),
        imports="(using_directive) @statement",
        has_central_versions=True,
        programs="dotnet|pwsh",
        setup_actions="setup-dotnet",
        setup_inputs=("dotnet-version",),
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
SETUPS: Mapping[SetupKind, LanguageRecord] = {
    kind: TOOLCHAINS.get(kind, LANGUAGES["python"]) for kind in get_args(SetupKind)
}
"""The language of what a CI job sets up."""
