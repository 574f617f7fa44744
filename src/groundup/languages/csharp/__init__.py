"""C# and .NET: MSBuild and NuGet."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from groundup.languages.record import LanguageRecord
from groundup.languages.spelling import lower

if TYPE_CHECKING:
    from groundup.manifests.sections import ManifestFormat


def _formats() -> "Sequence[ManifestFormat]":
    from groundup.languages.csharp.msbuild import MsBuild
    from groundup.languages.csharp.nuget import Nuspec, PackagesConfig

    return (
        MsBuild(),
        PackagesConfig(),
        Nuspec(),
    )


LANGUAGE = LanguageRecord(
    name="C#",
    suffixes=(".cs", ".razor", ".cshtml"),
    also_read=(".fs", ".vb"),
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
    canonical=lower,
    formats=_formats,
    also_called=("c#",),
    test_pattern=r"\[[ \t]*(?:Fact|Theory|Test|TestCase|TestMethod|DataTestMethod)\b",
)
