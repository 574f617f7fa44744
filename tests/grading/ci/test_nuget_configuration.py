"""A repository's NuGet.config in a job's copy: what of it gives way to the sandbox's one source."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.grading.ci.nuget_configuration import free_of_feeds, without_feeds

WHOLE = """<?xml version="1.0" encoding="utf-8"?>
<configuration>
  <config><add key="globalPackagesFolder" value="packages" /></config>
  <packageSources>
    <clear /> <!-- only ours -->
    <add key="nuget.org" value="https://feed.example/v3/index.json" protocolVersion="3" />
    <add key="local" value="./feed" />
    <add key="windows" value="C:\\packages" />
    <add key="off" value="./other" />
  </packageSources>
  <packageSourceMapping><packageSource key="nuget.org"><package pattern="*" /></packageSource>
    <packageSource key="local"><package pattern="Own.*" /></packageSource></packageSourceMapping>
  <disabledPackageSources><add key="off" value="true" /></disabledPackageSources>
  <packageSourceCredentials><ours><add key="Username" value="me" /></ours></packageSourceCredentials>
</configuration>
"""


def test_feeds_give_way_and_folders_stay(tmp_path: Path) -> None:
    """What would hide the gateway or cannot be reached goes, by name; all else stays byte for byte."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src/NuGet.config").write_text(WHOLE)
    (tmp_path / "other.config").write_text(WHOLE)
    assert free_of_feeds(tmp_path) == (
        "src/NuGet.config without the feed nuget.org, the feed windows, the feed off, disabledPackageSources, "
        "packageSourceCredentials",
    )
    root = ElementTree.fromstring((tmp_path / "src/NuGet.config").read_text())
    assert [section.tag for section in root] == ["config", "packageSources", "packageSourceMapping"]
    mapped = {item.get("key"): item[0].get("pattern") for item in root.iterfind("packageSourceMapping/*")}
    assert mapped == {"groundup": "*", "local": "Own.*"}
    assert [item.get("key") for item in root.iterfind("packageSources/*")] == ["local"]
    assert "<!-- only ours -->" in (tmp_path / "src/NuGet.config").read_text()
    assert (tmp_path / "other.config").read_text() == WHOLE
    assert free_of_feeds(tmp_path) == ()


def test_a_folder_of_its_own_hides_nothing_else(tmp_path: Path) -> None:
    """A configuration with nothing but folders clears the user's sources, too."""
    text = '<configuration><packageSources><clear/><add key="own" value="feed"/></packageSources></configuration>'
    (tmp_path / "NuGet.Config").write_text(text)
    assert free_of_feeds(tmp_path) == ("NuGet.Config without clear",)
    assert (tmp_path / "NuGet.Config").read_text() == text.replace("<clear/>", "")


def test_feeds_of_projects_are_overruled(tmp_path: Path) -> None:
    """What a project says in a property counts less than a response file, of which the nearest is read."""
    feeds = "<RestoreSources>$(RestoreSources);https://feed.example/v3/index.json</RestoreSources>"
    folder = "<RestoreAdditionalProjectSources>../feed</RestoreAdditionalProjectSources>"
    files = {
        "A/A.csproj": f"<Project><PropertyGroup>{feeds}{folder}</PropertyGroup></Project>",
        "A/Directory.Build.rsp": "-p:Own=1",
        "B/B.csproj": "<Project />",
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    assert free_of_feeds(tmp_path) == ("A/A.csproj without the feeds of RestoreSources",)
    assert (tmp_path / "Directory.Build.rsp").read_text() == "-p:RestoreSources=\n"
    assert (tmp_path / "A/Directory.Build.rsp").read_text() == "-p:Own=1\n-p:RestoreSources=\n"
    assert (tmp_path / "A/A.csproj").read_text() == files["A/A.csproj"]


def test_a_mapping_without_folders_goes() -> None:
    """There is one source then, and nothing to be told apart."""
    mapping = "<packageSourceMapping><packageSource key='a'/></packageSourceMapping>"
    feeds = '<packageSources><add key="a" value="https://feed.example"/></packageSources>'
    written, left_out = without_feeds(f"<configuration>{feeds}{mapping}</configuration>".encode(), "NuGet.config")
    assert written == b"<configuration><packageSources></packageSources></configuration>"
    assert left_out == ("the feed a", "packageSourceMapping")


@pytest.mark.parametrize("text", ["<configuration>", "", "<a/><b/>"])
def test_what_is_no_xml_is_left_to_the_client(tmp_path: Path, text: str) -> None:
    """The client says best what is wrong with a file."""
    (tmp_path / "nuget.config").write_text(text)
    assert free_of_feeds(tmp_path) == ()
    assert (tmp_path / "nuget.config").read_text() == text


@given(
    st.lists(st.tuples(st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=1), st.booleans()))
)
def test_only_folders_of_the_repository_are_left(sources: list[tuple[str, bool]]) -> None:
    """Whatever keys and places there are, no address and no clearing is left, and no folder is lost."""
    lines = [
        f'<add key="{key}" value="{"." if is_folder else "https://feed.example/" + key}" />'
        for key, is_folder in sources
    ]
    text = f"<configuration><packageSources><clear/>{''.join(lines)}</packageSources></configuration>"
    written, left_out = without_feeds(text.encode(), "NuGet.config")
    root = ElementTree.fromstring(written)
    assert [item.get("key") for item in root.iterfind("packageSources/*")] == [
        key for key, folder in sources if folder
    ]
    assert bool(left_out) == any(not is_folder for _, is_folder in sources)
