"""`groundup warm`: what is asked for at once, and how large things are."""

import json
import os
from pathlib import Path

import pytest

from groundup.cli.warm import size_on_disk
from tests.cli.conftest import TWO, Groundup


def test_what_is_asked_for_wrongly_is_refused_before_anything_is_built(groundup: Groundup, tmp_path: Path) -> None:
    """In one sentence each."""
    (tmp_path / "there").touch()
    taken = "--from takes everything that is in the file; leave SUITE and the other options out"
    where = "is there already, or its folder is not; name a new file in a folder that is there"
    for arguments, said in (
        ((), "name a suite, such as `groundup warm nl2repobench`, or a file with --from"),
        ((TWO, "--from", "f"), taken),
        (("--from", "f", "--task", "t"), taken),
        (("--from", "f", "--grader", "g"), taken),
        (("--from", "f", "--bundle", "b"), taken),
        ((TWO, "--bundle", "there"), f"there {where}"),
        ((TWO, "--bundle", "none/file"), f"none/file {where}"),
        ((TWO, "--grader", "strikt"), "unknown grader 'strikt'; did you mean 'strict'? There are lax, strict"),
        ((TWO, "--task", "tsk-0001"), "unknown task 'tsk-0001'; did you mean 'task-0001'? "),
    ):
        ended = groundup("warm", *arguments)
        assert ended.code == 2
        assert ended.err.startswith(f"groundup: {said}"), ended.err


def test_each_task_is_a_line(groundup: Groundup) -> None:
    """Of all, or of those that are named; what needs nothing takes nothing."""
    ended = groundup("warm", TWO, "--jobs", "1")
    assert ended.code == 0
    assert [line.partition(":")[0] for line in ended.err.splitlines()[:2]] == [
        "[1/2] task-0000",
        "[2/2] task-0001",
    ]
    assert ended.err.splitlines()[2:] == [
        "groundup: 2 of 2 tasks ready; all layers of this machine take 0 MB",
    ]
    ended = groundup("warm", TWO, "--task", "task-0001", "--grader", "lax", "--json")
    document = json.loads(ended.out)
    assert [(one["task"], one["bytes"], one["error"]) for one in document["tasks"]] == [("task-0001", 0, None)]
    assert document["layers_bytes"] == 0
    assert "groundup: 1 of 1 task ready; " in ended.err


def test_a_file_counts_once_whatever_its_names(tmp_path: Path) -> None:
    """At any depth; of a link itself, not of where it leads."""
    tree = tmp_path / "tree"
    (tree / "deep").mkdir(parents=True)
    assert size_on_disk(tree) == 0
    one, other, link = tree / "deep" / "one", tree / "other", tree / "link"
    for path in (one, other, tmp_path / "large"):
        path.write_bytes(os.urandom(100_000))
    (tree / "again").hardlink_to(one)
    link.symlink_to(tmp_path / "large")
    assert size_on_disk(tree) == 512 * sum(path.lstat().st_blocks for path in (one, other, link))


@pytest.mark.parametrize("name", ["absent", "file"])
def test_what_is_no_folder_takes_nothing(tmp_path: Path, name: str) -> None:
    """Such as layers before the first."""
    (tmp_path / "file").touch()
    assert size_on_disk(tmp_path / name) == 0
