"""What is kept of a program's HOME."""

import os
from pathlib import Path

from groundup.agents.cli.results import kept_files


def test_matching_files_are_kept_by_name(tmp_path: Path) -> None:
    """Patterns match part by part; names say where a file lay and start with no dot."""
    place = tmp_path / ".tool" / "sessions" / "one"
    place.mkdir(parents=True)
    (place / "log.jsonl").write_text("said")
    (place / "key").write_text("secret")
    (tmp_path / "log.jsonl").write_text("elsewhere")
    assert list(kept_files(tmp_path, [".tool/sessions/*/*.jsonl"])) == [
        ("trajectory-tool-sessions-one-log.jsonl", b"said")
    ]


def test_links_and_devices_are_not_followed(tmp_path: Path) -> None:
    """A program cannot make the host read another file for it, nor wait for a pipe."""
    outside = tmp_path / "outside.json"
    outside.write_text("the host's")
    home = tmp_path / "home"
    home.mkdir()
    (home / "a.json").symlink_to(outside)
    (home / "folder").symlink_to(tmp_path)
    os.mkfifo(home / "b.json")
    assert list(kept_files(home, ["*.json", "folder/*.json"])) == []


def test_much_is_cut(tmp_path: Path) -> None:
    """Whatever a program leaves, at most 200 files are read."""
    for number in range(250):
        (tmp_path / f"{number:03}.json").write_text("x")
    assert len(list(kept_files(tmp_path, ["*.json"]))) == 200


def test_of_large_files_the_beginning_is_kept(tmp_path: Path) -> None:
    """64 MiB of all together; what comes after them is left out."""
    for name in ("a.json", "b.json", "c.json"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(40 * 1024 * 1024)
    assert [len(content) // 1024**2 for _, content in kept_files(tmp_path, ["*.json"])] == [40, 24]
