"""Names of what an SDK asks for of its own accord, read from its files."""

import fnmatch
import shutil
import subprocess
from pathlib import Path

import pytest

from groundup.registries.nuget import bundled_names

PROPS = """<Project><ItemGroup>
<KnownFrameworkReference Include="Microsoft.NETCore.App" TargetFramework="net9.0"
                         TargetingPackName="Microsoft.NETCore.App.Ref"
                         RuntimePackNamePatterns="Microsoft.NETCore.App.Runtime.**RID**;Other.Runtime.**RID**" />
<KnownAppHostPack Include="Microsoft.NETCore.App" AppHostPackNamePattern="Microsoft.NETCore.App.Host.**RID**" />
<KnownILLinkPack Include="Microsoft.NET.ILLink.Tasks" ILLinkPackVersion="9.0.20" />
</ItemGroup></Project>"""
TARGETS = (
    '<ItemGroup><PackageReference Include="Reference.Assemblies" Version="$(X)" IsImplicitlyDefined="true" />'
)


def _is_named(name: str, names: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in names)


def test_names_are_read_from_the_sdk(tmp_path: Path) -> None:
    """Packs for any system, references that no project writes, and what belongs to them; nothing else."""
    (tmp_path / "Sdks/Microsoft.NET.Sdk/targets").mkdir(parents=True)
    (tmp_path / "Microsoft.NETCoreSdk.BundledVersions.props").write_text(PROPS)
    (tmp_path / "Sdks/Microsoft.NET.Sdk/targets/A.targets").write_text(TARGETS)
    names = bundled_names(tmp_path)
    for name in (
        "microsoft.netcore.app.ref",
        "microsoft.netcore.app.host.linux-x64",
        "other.runtime.osx-arm64",
        "microsoft.net.illink.tasks",
        "reference.assemblies",
        "reference.assemblies.net472",
    ):
        assert _is_named(name, names), name
    assert not _is_named("newtonsoft.json", names)
    assert not _is_named("microsoft.net.test.sdk", names)
    assert bundled_names(tmp_path / "none") == ()


@pytest.mark.needs("dotnet")
def test_the_real_sdk_names_its_packs() -> None:
    """What restores of older frameworks ask for is in the files of the SDK that is here."""
    program = shutil.which("dotnet")
    assert program is not None
    listed = subprocess.run([program, "--list-sdks"], capture_output=True, check=True, text=True).stdout
    version, _, folder = listed.splitlines()[-1].partition(" ")
    names = bundled_names(Path(folder.strip("[]")) / version)
    for name in (
        "microsoft.netcore.app.ref",
        "microsoft.aspnetcore.app.ref",
        "microsoft.netcore.app.host.linux-x64",
        "microsoft.net.illink.tasks",
        "microsoft.netframework.referenceassemblies",
        "microsoft.netframework.referenceassemblies.net472",
    ):
        assert _is_named(name, names), name
    assert not _is_named("microsoft.net.test.sdk", names)
