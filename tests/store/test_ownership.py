"""`store.ownership`: groundup replaces what it wrote, as long as nobody changed it, and nothing else."""

import json
import os
import threading
from pathlib import Path

import pytest

from groundup.domain.digests import digest_bytes
from groundup.domain.errors import InfrastructureError, UsageError
from groundup.store.ownership import (
    NOTES,
    copy_made,
    is_made,
    note_made,
    refuse_full,
    refuse_others,
    was_made,
    was_noted,
    write_made,
)
from groundup.trees.digest import tree_digest


def test_what_was_written_can_be_written_again(tmp_path: Path) -> None:
    """A report that is saved twice is the newer one."""
    path = tmp_path / "report.html"
    for content in (b"old", b"new", b"old"):
        write_made(path, content)
        assert path.read_bytes() == content
        assert is_made(path)


def test_what_somebody_else_wrote_or_changed_stays(tmp_path: Path) -> None:
    """A user's file of that name, and our own with a user's edit in it, are refused with the name."""
    path = tmp_path / "report.html"
    path.write_text("mine")
    with pytest.raises(UsageError, match=r"report.html is there, and groundup did not write it"):
        write_made(path, b"ours")
    assert path.read_text() == "mine"
    path.unlink()
    write_made(path, b"ours")
    path.write_text("ours, and my notes")
    with pytest.raises(UsageError, match="changed since"):
        copy_made(Path(__file__), path)
    assert path.read_text() == "ours, and my notes"


def test_a_copy_is_made_again_as_its_source_changes(tmp_path: Path) -> None:
    """As what is written: whole or not at all, and nothing is left beside it."""
    source, path = tmp_path / "source", tmp_path / "made" / "copy"
    path.parent.mkdir()
    for text in ("one", "one", "another"):
        source.write_text(text)
        copy_made(source, path)
        assert path.read_text() == text
    assert not [*path.parent.glob(".copy.*")]


def test_the_same_content_is_nobody_s_loss_and_not_ours(tmp_path: Path) -> None:
    """A user's file that happens to be equal is left alone, and does not become groundup's."""
    path = tmp_path / "empty.csv"
    path.touch()
    write_made(path, b"")
    assert not is_made(path)


@pytest.mark.parametrize("make", ["link", "dangling", "folder", "fifo"])
def test_what_is_no_file_is_somebody_s(tmp_path: Path, make: str) -> None:
    """A link, even one to nothing, a folder or a pipe is not replaced."""
    path, other = tmp_path / "report.html", tmp_path / "other"
    if make == "link":
        write_made(other, b"a")
        path.symlink_to(other)
    elif make == "dangling":
        path.symlink_to("nowhere")
    elif make == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    mode = path.lstat().st_mode
    with pytest.raises(UsageError, match="is there"):
        write_made(path, b"ours")
    assert path.lstat().st_mode == mode


def test_folders_are_known_by_their_trees(tmp_path: Path) -> None:
    """A folder is groundup's until anything in it is added, changed or removed."""
    folder = tmp_path / "masked"
    folder.mkdir()
    (folder / "setup.py").write_text("x")
    assert not is_made(folder)
    note_made(folder, tree_digest(folder).digest)
    refuse_others(folder)
    (folder / "notes").touch()
    with pytest.raises(UsageError):
        refuse_others(folder)
    assert was_made(folder)


def test_what_is_full_is_not_filled(tmp_path: Path) -> None:
    """A new folder, or an empty one."""
    for name in ("empty", "full"):
        (tmp_path / name).mkdir()
    (tmp_path / "full" / "a").touch()
    (tmp_path / "link").symlink_to("nowhere")
    refuse_full(tmp_path / "absent")
    refuse_full(tmp_path / "empty")
    for name, says in (("full", "is not empty"), ("full/a", "is no folder"), ("link", "is no folder")):
        with pytest.raises(UsageError) as caught:
            refuse_full(tmp_path / name)
        assert str(caught.value) == f"{tmp_path / name} {says}; name a new folder"


def test_a_folder_is_made_only_where_it_is_asked_for(tmp_path: Path) -> None:
    """Else a misspelt one would be filled; and the sentence of a refusal says what else to do."""
    with pytest.raises(InfrastructureError):
        write_made(tmp_path / "new" / "a", b"a")
    assert not (tmp_path / "new").exists()
    write_made(tmp_path / "new" / "a", b"a", makes_folder=True)
    assert was_noted(tmp_path / "new" / "a", digest_bytes(b"a"))
    assert not was_noted(tmp_path / "new" / "a", digest_bytes(b"b"))
    assert not was_noted(tmp_path / "new" / "b", digest_bytes(b"a"))
    (tmp_path / "new" / "a").write_text("mine")
    with pytest.raises(UsageError) as caught:
        refuse_others(tmp_path / "new" / "a", "go away")
    assert str(caught.value) == (
        f"{tmp_path / 'new' / 'a'} is there, and groundup did not write it, or it was changed since; go away"
    )


def test_notes_say_for_people_what_they_are(tmp_path: Path) -> None:
    """One line for each content, once."""
    for content in (b"a", b"b", b"a"):
        write_made(tmp_path / "x", content)
    head, *lines = (tmp_path / NOTES).read_text().splitlines()
    assert head == (
        "# What groundup wrote here. It replaces or removes a name only as long as its digest is one of these."
    )
    assert [json.loads(line) for line in lines] == [
        {"name": "x", "digest": digest_bytes(content)} for content in (b"a", b"b")
    ]


def test_notes_of_somebody_else_s_are_neither_trusted_nor_changed(tmp_path: Path) -> None:
    """A user may have a file of that name; without its first line nothing in it says what groundup wrote."""
    (tmp_path / NOTES).write_text("remember the milk\n")
    write_made(tmp_path / "a", b"a")
    assert (tmp_path / NOTES).read_text() == "remember the milk\n"
    with pytest.raises(UsageError):
        write_made(tmp_path / "a", b"b")


def test_notes_that_cannot_be_kept_or_are_torn_cost_only_a_question(tmp_path: Path) -> None:
    """The file is written all the same; without a note the next writing is refused."""
    (tmp_path / NOTES).mkdir()
    write_made(tmp_path / "a", b"a")
    with pytest.raises(UsageError):
        write_made(tmp_path / "a", b"b")
    (tmp_path / NOTES).rmdir()
    (tmp_path / "a").unlink()
    write_made(tmp_path / "a", b"a")
    with (tmp_path / NOTES).open("ab") as notes:
        notes.write(b'{"name": "b", "dig')
    assert is_made(tmp_path / "a")
    assert not was_made(tmp_path / "b")


def test_many_may_write_into_one_folder_at_once(tmp_path: Path) -> None:
    """Every note arrives whole."""
    paths = [tmp_path / f"{number}.svg" for number in range(40)]
    threads = [threading.Thread(target=write_made, args=(path, path.name.encode())) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(map(is_made, paths))
