"""What strangers' trees may be, to the last byte, and each sentence about what they may not."""

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError, SubmissionError
from groundup.trees.walking import why_refused
from groundup.trees.writer import DROPPED_SHOWN, TreeLimits, TreeWriter, disk_errors, named_dropped

LIMITS = TreeLimits(files=4, bytes=10, depth=3, name_bytes=5, path_bytes=9)


def write(*names: str) -> Callable[[TreeWriter], None]:
    """Return what writes files of two bytes."""

    def writing(writer: TreeWriter) -> None:
        for name in names:
            parts = tuple(name.split("/"))
            writer.admit(parts)
            writer.file(parts, [b"x", b"y"], executable=False, size=2)

    return writing


@pytest.mark.parametrize(
    ("fits", "beyond", "says"),
    [
        (write("a", "b", "c", "d"), write("e"), "the tree holds more than 4 files and folders; hand in fewer"),
        (write("a/b/c"), write("a/b/c/d"), "a/b/c/d... lies deeper than 3 folders"),
        (write("abcde"), write("abcdef"), "the file name abcdef... is longer than 5 bytes"),
        (write("abc"), write("ééé"), "the file name ééé... is longer than 5 bytes"),
        (write("abcd/efgh"), write("abcde/fghi"), "the path abcde/fghi... is longer than 9 bytes"),
        (
            lambda writer: writer.file(("a",), [b"x" * 9, b"y"], executable=False, size=10),
            lambda writer: writer.file(("b",), [b"x"], executable=False),
            "the tree holds more than 10 bytes (passed at b); leave out large files that are not part of the "
            "repository",
        ),
        (
            lambda writer: writer.require(10, ("a",)),
            lambda writer: writer.file(("a",), [], executable=False, size=11),
            "the tree holds more than 10 bytes (passed at a); leave out large files that are not part of the "
            "repository",
        ),
    ],
)
def test_limits_hold_to_the_last(
    tmp_path: Path, fits: Callable[[TreeWriter], None], beyond: Callable[[TreeWriter], None], says: str
) -> None:
    """What is just within them is taken; one more is refused, and nothing is left of it."""
    with TreeWriter(tmp_path / "first", LIMITS) as writer:
        fits(writer)
        writer.finish()

    def write_more() -> None:
        with TreeWriter(tmp_path / "second", LIMITS) as writer:
            fits(writer)
            beyond(writer)

    with pytest.raises(SubmissionError) as caught:
        write_more()
    assert str(caught.value) == says
    assert [path.name for path in tmp_path.iterdir()] == ["first"]


def test_what_is_left_out_is_named(tmp_path: Path) -> None:
    """Each with its reason; files are counted as they lie there in the end."""
    with TreeWriter(tmp_path / "tree", TreeLimits(path_bytes=20)) as writer:
        writer.file(("a",), [b"123"], executable=True)
        writer.file(("a",), [b"4"], executable=False)
        writer.folder(("a",))
        writer.folder(("a", "b"))
        writer.file(("a", "b"), [b"5"], executable=False)
        writer.folder(("c", "d"))
        writer.file(("c",), [b"6"], executable=False)
        writer.link(("empty",), "")
        writer.link(("nul",), "x\0y")
        writer.link(("long",), "x" * 21)
        writer.link(("l",), "a")
        writer.link(("out",), "../..")
        writer.link(("c",), "a")
        writer.link(("replaced",), "a")
        writer.file(("replaced",), [b"7"], executable=False)
        writer.drop(("x\x1b",), "why not")
        taken = writer.finish()
    assert taken.dropped == (
        "a: a file of that name exists",
        "a/b: a file of that name exists",
        "a/b: a file has the name of its folder",
        "c: a folder of that name exists",
        "empty: link to nothing that can be named",
        "nul: link to nothing that can be named",
        "long: link to nothing that can be named",
        "x\\x1b: why not",
        "c: a file or folder of that name exists",
        "out: link leads outside",
    )
    assert (taken.files, taken.bytes, taken.dropped_count) == (3, 5, 10)
    assert sorted(path.name for path in (tmp_path / "tree").iterdir()) == ["a", "c", "l", "replaced"]
    assert (tmp_path / "tree" / "a").read_bytes() == b"4"
    assert (tmp_path / "tree" / "a").stat().st_mode & 0o777 == 0o644


def test_of_much_that_is_left_out_so_many_are_named(tmp_path: Path) -> None:
    """The last of them says how many more there are."""
    for beyond in (0, 5):
        with TreeWriter(tmp_path / f"tree{beyond}", LIMITS) as writer:
            for number in range(DROPPED_SHOWN + beyond):
                writer.drop((str(number),), "x")
            taken = writer.finish()
        named = named_dropped(taken)
        assert len(named) == DROPPED_SHOWN
        assert named[-1] == (f"and {beyond + 1} more" if beyond else f"{DROPPED_SHOWN - 1}: x")


def test_a_folder_that_is_not_empty_is_not_filled(tmp_path: Path) -> None:
    """Nor emptied."""
    (tmp_path / "a").touch()
    with pytest.raises(InfrastructureError) as caught, TreeWriter(tmp_path, LIMITS):
        pass
    assert str(caught.value) == f"{tmp_path} is not empty; remove it first"
    assert (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (errno.ENOSPC, "no room left on the disk of /here; free some"),
        (errno.EDQUOT, "no room left on the disk of /here; free some"),
        (errno.EROFS, "/here cannot be written to: x; make it writable or name another folder"),
        (errno.EACCES, "/here cannot be written to: x; make it writable or name another folder"),
        (errno.EMFILE, "cannot write /there: x; raise the limit of open files (`ulimit -n`)"),
        (errno.EFBIG, "cannot write /there: x; raise the limit of a file's size (`ulimit -f`)"),
        (errno.EIO, "cannot write /there: x; name another folder"),
    ],
)
def test_what_a_disk_refuses_says_what_to_do(code: int, says: str) -> None:
    """By its number; an error without one is not the disk's."""
    with pytest.raises(InfrastructureError) as caught, disk_errors(Path("/here")):
        raise OSError(code, "x", "/there")
    assert str(caught.value) == says
    with pytest.raises(OSError, match="bad data"), disk_errors(Path("/here")):
        raise OSError("bad data")
    with pytest.raises(FileExistsError), disk_errors(Path("/here"), FileExistsError):
        raise FileExistsError(errno.EEXIST, "x")


@pytest.mark.parametrize(
    ("links", "refused"),
    [
        ({"a": "b"}, None),
        ({"a": "./b//c/.."}, None),
        ({"d/a": "../b"}, None),
        ({"a": "/b"}, "absolute link"),
        ({"a": ".."}, "link leads outside"),
        ({"d/a": "../../b"}, "link leads outside"),
        ({"a": "b/../..", "b": "c/d"}, None),
        ({"a": "b/../..", "b": "c"}, "link leads outside"),
        ({"a": "b", "b": "/etc"}, "link leads to an absolute link"),
        ({"a": "a"}, "link in a circle"),
        ({"a": "b", "b": "a"}, "link in a circle"),
        ({f"a{number}": f"a{number + 1}" for number in range(38)}, None),
    ],
)
def test_links_stay_inside(links: dict[str, str], refused: str | None) -> None:
    """Followed as the system follows them, over other links; what is not there cannot lead elsewhere."""
    by_parts = {tuple(name.split("/")): target for name, target in links.items()}
    assert why_refused(next(iter(by_parts)), by_parts) == refused
