"""Copies of what a task asks for are found by name, and hidden."""

import inspect
import shutil
import textwrap
import zipfile
from pathlib import Path

from groundup.agents.absence import brings_copies, brought_along, copies_below, hiding
from groundup.sandbox.protocol import Mount
from groundup.trees.fingerprints import Fingerprint


def tree(root: Path, *files: str) -> Path:
    """Write empty *files* below *root*."""
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root


def wheel(path: Path, *members: str) -> None:
    """Write an archive with these members."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for member in members:
            archive.writestr(member, "")


def test_copies_are_found_however_they_are_spelled(tmp_path: Path) -> None:
    """A package's folder and a module count, whether the name is a distribution's or an import's."""
    root = tree(
        tmp_path, "tool/vendored/docopt_ng/__init__.py", "tool/six.py", "tool/other.py", "docs/six/six.txt"
    )
    found = [str(path.relative_to(root)) for path in copies_below(root, ["Docopt.NG", "six"])]
    assert found == ["tool/six.py", "tool/vendored/docopt_ng"]


def test_a_folder_hides_what_is_in_it(tmp_path: Path) -> None:
    """What lies in a hidden folder is not named again: nothing can be mounted there."""
    root = tree(tmp_path, "lib/six/__init__.py", "lib/six/six.py", "lib/six/six/__init__.py")
    assert copies_below(root, ["six"]) == (root / "lib" / "six",)


def test_a_standard_library_stays_whole(tmp_path: Path) -> None:
    """A module of the interpreter's own that happens to have the name is needed, and no copy."""
    root = tree(tmp_path, "lib/python3.12/urllib/parse.py", "lib/python3.12/site-packages/parse.py")
    assert copies_below(root, ["parse"]) == (root / "lib/python3.12/site-packages/parse.py",)


def test_archives_are_looked_into(tmp_path: Path) -> None:
    """A bundled wheel that vendors the library is a copy; one with a module of that name deep inside is not."""
    wheel(tmp_path / "pip.whl", "pip/_vendor/tenacity/__init__.py", "pip/_vendor/rich/emoji.py")
    (tmp_path / "broken.whl").write_bytes(b"no archive")
    assert copies_below(tmp_path, ["tenacity"]) == (tmp_path / "pip.whl",)
    assert copies_below(tmp_path, ["emoji"]) == ()


async def test_only_what_is_installed_or_vendored_rules_a_tool_out(tmp_path: Path) -> None:
    """An environment brings a copy when it lies where copies lie, not when a module deep inside has the name."""
    inside = "lib/python3.12/site-packages"
    root = tree(tmp_path, f"{inside}/pip/_vendor/six.py", f"{inside}/pip/_vendor/rich/emoji.py")
    assert await brings_copies(root, ["six"])
    assert not await brings_copies(root, ["emoji"])
    shown = (Mount(source=root, target="/opt/agent/env"),)
    assert brought_along(shown, ["six"]) == (f"/opt/agent/env/{inside}/pip/_vendor/six.py",)


async def test_what_a_layer_brings_is_looked_up_once(tmp_path: Path) -> None:
    """A layer never changes, so another process takes the answer beside it; other names are looked up."""
    layer = tmp_path / "layer"
    root = tree(layer / "tree", "lib/python3.12/site-packages/pip/_vendor/six.py")
    (layer / "layer.json").write_text("{}")
    assert await brings_copies(root, ["six"])
    assert not await brings_copies(root, ["emoji"])
    kept = sorted(path.read_bytes() for path in layer.glob("copies-*"))
    assert kept == [b"no", b"yes"]
    shutil.rmtree(root / "lib")
    again = layer / ".." / "layer" / "tree"  # as another process, which has not asked for this path yet
    assert await brings_copies(again, ["six"])
    assert not await brings_copies(again, ["six", "emoji"])


def test_archives_of_what_is_shown_are_hidden(tmp_path: Path) -> None:
    """The wheel that an interpreter bundles is covered by an empty file at its place inside."""
    wheel(tmp_path / "python" / "ensurepip" / "_bundled" / "pip.whl", "pip/_vendor/surely_not_on_this_host.py")
    shown = (Mount(source=tmp_path / "python", target="/opt/python"),)
    (hidden,) = hiding(["surely-not-on-this-host"], shown, tmp_path / "room")
    assert hidden.target == "/opt/python/ensurepip/_bundled/pip.whl"
    assert hidden.source.read_bytes() == b""
    assert hiding([], shown, tmp_path / "room") == ()


async def test_a_copy_by_another_name_is_a_copy(tmp_path: Path) -> None:
    """What an environment installs is known by its content, too; a standard library may have what it likes."""
    code = inspect.getsource(textwrap)
    original = Fingerprint.of("wrapping", {"wrapping.py": code.encode()})
    inside = "lib/python3.12/site-packages/tool/helpers"
    root = tree(tmp_path, f"{inside}/folding.py", "lib/python3.12/textwrap.py")
    (root / "lib/python3.12/textwrap.py").write_text(code)
    assert not await brings_copies(root, ["wrapping"], original)
    other = tree(tmp_path / "other", f"{inside}/folding.py")
    (other / inside / "folding.py").write_text(code)
    assert await brings_copies(other, ["wrapping"], original)
