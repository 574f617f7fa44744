"""The formats that are understood, by name, and which file is of which format."""

from pathlib import PurePosixPath

from groundup.domain.errors import UsageError
from groundup.domain.names import unknown
from groundup.manifests.csharp.msbuild import MsBuild
from groundup.manifests.csharp.nuget import Nuspec, PackagesConfig
from groundup.manifests.javascript.package_json import PackageJson
from groundup.manifests.javascript.pnpm_workspace import PnpmWorkspace
from groundup.manifests.protocol import ManifestFormat
from groundup.manifests.python.environment_yml import EnvironmentYml
from groundup.manifests.python.pipfile import Pipfile
from groundup.manifests.python.pyproject import Pyproject
from groundup.manifests.python.requirements_txt import RequirementsTxt
from groundup.manifests.python.setup_cfg import SetupCfg
from groundup.manifests.python.setup_py import SetupPy
from groundup.manifests.rust.cargo_toml import CargoToml

_ALL: tuple[ManifestFormat, ...] = (
    Pyproject(),
    SetupCfg(),
    SetupPy(),
    RequirementsTxt(),
    Pipfile(),
    EnvironmentYml(),
    PackageJson(),
    PnpmWorkspace(),
    CargoToml(),
    MsBuild(),
    PackagesConfig(),
    Nuspec(),
)

FORMATS: dict[str, ManifestFormat] = {item.name: item for item in _ALL}
"""Every format by its name; add a sibling module and one line here. Importing a format imports no parser."""


def find_format(name: str) -> ManifestFormat:
    """Return the format of *name*; raise `UsageError` with the choices."""
    if name not in FORMATS:
        raise UsageError(unknown("manifest format", name, FORMATS))
    return FORMATS[name]


def format_of(path: str | PurePosixPath) -> ManifestFormat | None:
    """Return the format of the file at a relative *path*, or None for a file that is no manifest."""
    relative = PurePosixPath(path)
    return next((item for item in FORMATS.values() if item.recognises(relative)), None)
