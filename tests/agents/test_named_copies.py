"""Import names below a folder are kept from one program to the next, as long as nothing changed there."""

import time
import zipfile
from pathlib import Path

from groundup.agents.absence import SETTLED_NS, kept_names_below, names_below


def kept(root: Path, room: Path, settled_ns: int = 0) -> dict[str, set[str]]:
    """Return what is kept of *root*, by paths below it, a few ticks of the clock after the last change."""
    time.sleep(0.05)
    found = kept_names_below(root, (), room, settled_ns)
    time.sleep(0.05)
    return {name: {str(Path(path).relative_to(root)) for path in paths} for name, paths in found.items()}


def archive(path: Path, member: str) -> None:
    """Write a wheel with one member."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(member, "")


def test_what_is_kept_is_used_again(tmp_path: Path) -> None:
    """As long as nothing changed, the kept names are the answer."""
    root, room = tmp_path / "root", tmp_path / "room"
    (root / "six").mkdir(parents=True)
    (root / "six" / "moves.py").touch()
    assert kept(root, room) == {"moves": {"six/moves.py"}, "six": {"six"}}
    (file,) = room.iterdir()
    file.write_text(file.read_text().replace('"moves"', '"kept"'))
    assert kept(root, room) == {"kept": {"six/moves.py"}, "six": {"six"}}


def test_whatever_changes_is_seen(tmp_path: Path) -> None:
    """A new module deep inside, a module that goes, and an archive written anew in place are seen at once."""
    root, room = tmp_path / "root", tmp_path / "room"
    (root / "a" / "b").mkdir(parents=True)
    archive(root / "tool.whl", "six.py")
    assert kept(root, room) == {"six": {"tool.whl"}}
    (root / "a" / "b" / "attr.py").touch()
    assert kept(root, room) == {"six": {"tool.whl"}, "attr": {"a/b/attr.py"}, "b": {"a/b"}}
    (root / "a" / "b" / "attr.py").unlink()
    archive(root / "tool.whl", "tenacity.py")
    assert kept(root, room) == {"tenacity": {"tool.whl"}}
    (root / "a" / "b").rmdir()
    assert kept(root, room) == {"tenacity": {"tool.whl"}}


def test_what_has_just_changed_is_not_kept(tmp_path: Path) -> None:
    """Two changes within one tick of the clock look like one, so names are kept of what has come to rest only."""
    root, room = tmp_path / "root", tmp_path / "room"
    root.mkdir()
    assert kept(root, room, SETTLED_NS) == names_below(root, ()) == {}
    assert not room.exists()


def test_what_is_broken_is_made_again(tmp_path: Path) -> None:
    """A kept file that cannot be read, or is something else, costs time and nothing else."""
    root, room = tmp_path / "root", tmp_path / "room"
    root.mkdir()
    (root / "six.py").touch()
    for text in ("", "[]", "{}", '{"stamps": 3}'):
        expected = kept(root, room)
        (file,) = room.iterdir()
        file.write_text(text)
        assert kept(root, room) == expected
