"""Files and folders that give a repository's dependencies away beside its manifests: a mask removes them whole."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from types import MappingProxyType

from groundup.domain.records import Record
from groundup.manifests.records import Language


class Leaks(Record):
    """What leaks in one language, by lower-case name."""

    files: frozenset[str]
    suffixes: tuple[str, ...] = ()
    folders: frozenset[str] = frozenset()

    def holds(self, path: PurePosixPath) -> bool:
        """Whether the file at a relative *path* leaks, by its name or by a folder that it is in."""
        name = path.name.lower()
        if name in self.files or name.endswith(self.suffixes):
            return True
        return any(part.lower() in self.folders for part in path.parts[:-1])


LEAKS: Mapping[Language, Leaks] = MappingProxyType(
    {
        "python": Leaks(
            files=frozenset({
                "uv.lock", "poetry.lock", "pdm.lock", "pipfile.lock", "pixi.lock", "conda-lock.yml", "pkg-info",
                "requires.txt",
            }),
            suffixes=(".egg-link",),
            folders=frozenset({"site-packages", ".venv", "venv", "__pypackages__"}),
        ),
        "rust": Leaks(
            files=frozenset({"cargo.lock", "cargo.toml.orig", "supply-chain.toml"}),
            folders=frozenset({"target", ".cargo-vendor"}),
        ),
        "javascript": Leaks(
            files=frozenset({
                "package-lock.json", "npm-shrinkwrap.json", ".package-lock.json", "yarn.lock", "pnpm-lock.yaml",
                "shrinkwrap.yaml", "bun.lock", "bun.lockb", "deno.lock", ".pnp.cjs", ".pnp.js", ".pnp.data.json",
                ".pnp.loader.mjs", ".yarn-integrity",
            }),
            folders=frozenset({"node_modules", "bower_components", "jspm_packages"}),
        ),
        "csharp": Leaks(
            files=frozenset({
                "packages.lock.json", "project.assets.json", "project.lock.json", "project.nuget.cache",
                "paket.lock", "paket.dependencies", "paket.references", "paket.template",
            }),
            suffixes=(".deps.json", ".nuget.g.props", ".nuget.g.targets", ".nuget.dgspec.json", ".nupkg"),
            folders=frozenset({"obj", "paket-files"}),
        ),
    }
)  # fmt: skip
"""Built, downloaded or resolved: nobody writes them by hand, except Paket's files, which no mask understands."""


def leaks(path: str | PurePosixPath, language: Language) -> bool:
    """Whether the file at a relative *path* gives away dependencies of *language*."""
    return LEAKS[language].holds(PurePosixPath(path))
