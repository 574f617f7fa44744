"""packages.config and .nuspec: NuGet's own lists."""

import pytest

from groundup.languages.csharp.nuget import Nuspec, PackagesConfig
from groundup.manifests.records import Dependency, DependencyKind, ManifestError
from tests.manifests.span_laws import assert_laws

CONFIG = (
    b'\xef\xbb\xbf<?xml version="1.0" encoding="utf-8"?>\r\n<!-- licence -->\r\n<packages>\r\n'
    b'  <package id="NUnit" version="3.1" targetFramework="net48" developmentDependency="true" />\r\n'
    b"  <!-- for JSON -->\r\n"
    b'  <package id="Newtonsoft.Json" version="13" allowedVersions="[13,14)" />\r\n</packages>\r\n'
)
SPEC = b"""\
<?xml version="1.0"?>
<package xmlns="http://schemas.microsoft.com/packaging/2013/05/nuspec.xsd">
  <metadata>
    <id>A</id>
    <dependencies>
      <group targetFramework="net8.0">
        <dependency id="B" version="[1.0, )" exclude="Build" />
      </group>
      <!-- <dependency id="Old" version="1" /> -->
      <group targetFramework="net48" />
    </dependencies>
  </metadata>
</package>
"""


def test_packages_config() -> None:
    """Development dependencies, target frameworks and further attributes are read; the laws hold."""
    found = PackagesConfig().read(CONFIG, "packages.config").dependencies
    assert [(item.name, item.kind, item.group) for item in found] == [
        ("NUnit", DependencyKind.DEV, "net48"),
        ("Newtonsoft.Json", DependencyKind.RUNTIME, ""),
    ]
    assert found[1].details == (("allowedVersions", "[13,14)"),)
    assert_laws(PackagesConfig(), CONFIG, "packages.config")


def test_mask_of_packages_config() -> None:
    """A mask leaves the list empty; what stands around it stays."""
    start = CONFIG[: CONFIG.index(b"<packages>")]
    assert PackagesConfig().mask(CONFIG, "packages.config") == start + b"<packages>\r\n</packages>\r\n"


def test_nuspec() -> None:
    """Dependencies belong to their target framework; comments declare nothing; the laws hold."""
    found = Nuspec().read(SPEC, "A.nuspec").dependencies
    assert [(item.name, item.constraint, item.group, item.details) for item in found] == [
        ("B", "[1.0, )", "net8.0", (("exclude", "Build"),))
    ]
    assert b"Old" not in Nuspec().mask(SPEC, "A.nuspec")
    assert_laws(Nuspec(), SPEC, "A.nuspec")


def test_nuspec_makes_missing_groups() -> None:
    """A dependency of a framework that has no group yet gets one; so does a specification without any list."""
    new = Dependency(language="csharp", name="C", normalised="c", constraint="1", group="net9.0")
    grown = Nuspec().write(SPEC, [*Nuspec().read(SPEC, "A.nuspec").dependencies, new], "A.nuspec")
    assert b'<group targetFramework="net9.0">\n        <dependency id="C" version="1" />\n' in grown
    bare = b"<package><metadata><id>A</id></metadata></package>"
    for item in (new, new.but(group="")):
        made = Nuspec().write(bare, [item], "A.nuspec")
        assert [found.identity for found in Nuspec().read(made, "A.nuspec").dependencies] == [item.identity]


def test_errors_name_file_and_line() -> None:
    """A list with an entry that names nothing, or another document, is one clear error."""
    with pytest.raises(ManifestError, match=r"packages\.config:2: has a package without an id"):
        PackagesConfig().read(b"<packages>\n<package version='1'/></packages>", "packages.config")
    with pytest.raises(ManifestError, match="must hold <packages>"):
        PackagesConfig().read(b"<configuration/>", "packages.config")
    with pytest.raises(ManifestError, match=r"A\.nuspec:1: has a dependency without an id"):
        Nuspec().read(b"<p><metadata><dependencies><dependency/></dependencies></metadata></p>", "A.nuspec")
