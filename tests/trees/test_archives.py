"""Unpacking hostile archives."""

import bz2
import gzip
import io
import lzma
import re
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundup.domain.errors import SubmissionError
from groundup.trees.archives import BOMB_FLOOR, extract_archive, refuse_bomb, zstd
from groundup.trees.writer import TreeLimits
from tests.effort import often
from tests.trees.hostile import member, names, snapshot, stays_inside, tar_of, targets, zip_of

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "tar": bytes,
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstd.compress,
}
REGULAR = stat.S_IFREG | 0o644

wild_names = st.lists(st.one_of(names, st.sampled_from(["..", ".", "", "a", "b"])), min_size=1, max_size=4).map(
    "/".join
)
wild_members = st.tuples(
    wild_names,
    st.sampled_from(
        [tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE]
    ),
    targets | wild_names,
    st.binary(max_size=32),
)


def unpack(content: bytes, place: Path, limits: TreeLimits | None = None, strip: int = 0) -> Path:
    """Write *content* as an archive and extract it; return where."""
    archive = place / "archive"
    archive.write_bytes(content)
    extract_archive(archive, place / "out", limits, strip_components=strip)
    return place / "out"


@given(members=st.lists(wild_members, max_size=8))
@settings(max_examples=often(120), deadline=None)
def test_extraction_never_writes_outside(members: list[tuple[str, bytes, str, bytes]]) -> None:
    """Whatever names, links and kinds a tar holds, only the destination changes and no link leads out of it."""
    content = tar_of(
        [
            (member(name, kind, target), body if kind == tarfile.REGTYPE else b"")
            for name, kind, target, body in members
        ]
    )
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        out = unpack(content, place)
        assert sorted(path.name for path in place.iterdir()) == ["archive", "out"]
        assert stays_inside(out)
        assert all(path.is_symlink() or path.is_file() or path.is_dir() for path in out.rglob("*"))


@given(names=st.lists(st.tuples(wild_names, st.binary(max_size=32), st.booleans()), max_size=6))
@settings(max_examples=often(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_a_zip_never_writes_outside(names: list[tuple[str, bytes, bool]]) -> None:
    """The same for zips, with links."""
    content = zip_of(
        [(name, body, (stat.S_IFLNK if link else stat.S_IFREG) | 0o777) for name, body, link in names if name]
    )
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        out = unpack(content, place)
        assert sorted(path.name for path in place.iterdir()) == ["archive", "out"]
        assert stays_inside(out)


@given(kind=st.sampled_from([*PACKERS, "zip"]), data=st.data())
@settings(max_examples=often(120), deadline=None)
def test_a_damaged_archive_is_a_submission_error_or_unpacks(kind: str, data: st.DataObject) -> None:
    """Bytes changed or cut anywhere never raise anything else."""
    files = [("a/b", b"x" * 700), ("c", b"yy")]
    if kind == "zip":
        content = bytearray(zip_of([(name, body, REGULAR) for name, body in files]))
    else:
        content = bytearray(PACKERS[kind](tar_of([(member(name), body) for name, body in files])))
    for _ in range(data.draw(st.integers(0, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    del content[data.draw(st.integers(0, len(content))) :]
    with tempfile.TemporaryDirectory() as folder:
        try:
            unpack(bytes(content), Path(folder))
        except SubmissionError:
            assert not (Path(folder) / "out").exists()


@pytest.mark.parametrize("kind", [*PACKERS, "zip"])
def test_every_kind_unpacks_the_same(tmp_path: Path, kind: str) -> None:
    """Contents decide what an archive is, and the executable bit comes over."""
    if kind == "zip":
        content = zip_of([("a/run", b"1", stat.S_IFREG | 0o755), ("b", b"2", REGULAR)])
    else:
        content = PACKERS[kind](tar_of([(member("./a/run", mode=0o6755), b"1"), (member("b"), b"2")]))
    out = unpack(content, tmp_path)
    assert snapshot(out) == {"a": "folder", "a/run": "file 31", "b": "file 32"}
    assert (out / "a" / "run").stat().st_mode & 0o7777 == 0o755


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zst"])
def test_streams_one_after_the_other_are_one_archive(tmp_path: Path, kind: str) -> None:
    """Parallel packers write several streams into one file."""
    plain = tar_of([(member("a"), b"1" * 5000), (member("b"), b"2")])
    out = unpack(PACKERS[kind](plain[:3000]) + PACKERS[kind](plain[3000:]), tmp_path)
    assert set(snapshot(out)) == {"a", "b"}


@pytest.mark.parametrize("kind", [*PACKERS, "zip"])
def test_a_cut_off_archive_is_refused(tmp_path: Path, kind: str) -> None:
    """Half a download is not taken for a small submission."""
    body = bytes(range(256)) * 100
    content = (
        zip_of([("a", body, REGULAR), ("b", body, REGULAR)])
        if kind == "zip"
        else PACKERS[kind](tar_of([(member("a"), body), (member("b"), body)]))
    )
    with pytest.raises(SubmissionError, match="pack it again"):
        unpack(content[: len(content) * 2 // 3], tmp_path)


def test_a_damaged_header_in_the_middle_is_refused(tmp_path: Path) -> None:
    """A tar does not end where its damage starts."""
    content = bytearray(tar_of([(member("a"), b"1"), (member("b"), b"2")]))
    content[1024 + 148 : 1024 + 156] = b"\xff" * 8  # the second header's checksum
    with pytest.raises(SubmissionError, match="damaged"):
        unpack(bytes(content), tmp_path)


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zst", "zip"])
def test_a_bomb_is_refused_while_it_unpacks(tmp_path: Path, kind: str) -> None:
    """A gigabyte of zeros in a few kilobytes is refused by its ratio, long before it is written."""
    size = 1024**3
    if kind == "zip":
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("zeros", "w") as file:
            for _ in range(72):
                file.write(bytes(1024**2))
        content = buffer.getvalue()
    else:
        info = member("zeros")
        info.size = size
        content = PACKERS[kind](info.tobuf() + bytes(72 * 1024**2))
    with pytest.raises(SubmissionError, match="bomb"):
        unpack(content, tmp_path)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_too_many_bytes_and_too_many_files_are_refused(tmp_path: Path, kind: str) -> None:
    """The limits of a tree hold for what an archive unpacks to."""
    files = [(f"{number}", b"x" * 10) for number in range(5)]
    content = (
        zip_of([(name, body, REGULAR) for name, body in files])
        if kind == "zip"
        else tar_of([(member(name), body) for name, body in files])
    )
    for limits in (TreeLimits(bytes=49), TreeLimits(files=4)):
        with pytest.raises(SubmissionError, match="more than"):
            unpack(content, tmp_path, limits)


def test_a_header_that_claims_a_gigabyte_costs_no_memory(tmp_path: Path) -> None:
    """tarfile reads extended headers in one piece; a lie about their length is refused."""
    info = member("pax", tarfile.XHDTYPE)
    info.size = 1024**3
    with pytest.raises(SubmissionError, match="header"):
        unpack(info.tobuf() + bytes(4096), tmp_path)


def test_a_file_cannot_be_written_through_a_link(tmp_path: Path) -> None:
    """Links are made last: the member below a link becomes a folder of its own, and the link is dropped."""
    content = tar_of([(member("a", tarfile.SYMTYPE, "/tmp"), b""), (member("a/groundup-was-here"), b"x")])
    out = unpack(content, tmp_path)
    assert snapshot(out) == {"a": "folder", "a/groundup-was-here": "file 78"}


def test_what_leads_outside_is_left_out_and_named(tmp_path: Path) -> None:
    """`..`, absolute names, devices and links that escape are dropped; the rest is taken."""
    (tmp_path / "archive").write_bytes(
        tar_of(
            [
                (member("../up"), b"1"),
                (member("/absolute"), b"1"),
                (member("device", tarfile.CHRTYPE), b""),
                (member("out", tarfile.SYMTYPE, "../.."), b""),
                (member("hard", tarfile.LNKTYPE, "/etc/passwd"), b""),
                (member("folder", tarfile.DIRTYPE), b""),
                (member("hard-to-folder", tarfile.LNKTYPE, "folder"), b""),
                (member("fine"), b"1"),
                (member("in", tarfile.SYMTYPE, "fine"), b""),
                (member("twin", tarfile.LNKTYPE, "fine"), b""),
            ]
        )
    )
    taken = extract_archive(tmp_path / "archive", tmp_path / "out")
    assert set(snapshot(tmp_path / "out")) == {"fine", "folder", "in", "twin"}
    assert taken.dropped == (
        "../up: name leads outside",
        "/absolute: name leads outside",
        "device: not a file, folder or link",
        "hard: hard link to no file of the archive",
        "hard-to-folder: hard link to no file of the archive",
        "out: link leads outside",
    )


def test_of_files_with_one_name_the_last_wins(tmp_path: Path) -> None:
    """As with every other unpacker, so that no one sees another tree than we grade."""
    out = unpack(tar_of([(member("a"), b"1"), (member("a"), b"2")]), tmp_path)
    assert snapshot(out) == {"a": "file 32"}


def test_a_top_folder_can_be_stripped(tmp_path: Path) -> None:
    """Source distributions have everything in one folder."""
    content = tar_of([(member("p-1", tarfile.DIRTYPE), b""), (member("p-1/a"), b"1"), (member("p-1/b/c"), b"2")])
    assert set(snapshot(unpack(content, tmp_path, strip=1))) == {"a", "b", "b/c"}


def test_something_else_is_no_archive(tmp_path: Path) -> None:
    """A file of text is refused in one sentence."""
    with pytest.raises(SubmissionError, match="cannot be read"):
        unpack(b"hello world\n" * 100, tmp_path)


@pytest.mark.parametrize(
    ("unpacked", "packed", "is_bomb"),
    [
        (BOMB_FLOOR, 1, False),
        (BOMB_FLOOR + 1, 1, True),
        (BOMB_FLOOR + 1, 0, True),
        (200 * 1024**2, 2 * 1024**2, False),
        (200 * 1024**2 + 1, 2 * 1024**2, True),
    ],
)
def test_a_bomb_is_large_and_came_out_of_little(unpacked: int, packed: int, *, is_bomb: bool) -> None:
    """More than 64 MiB, and more than the ratio allows."""
    limits = TreeLimits(ratio=100)
    if not is_bomb:
        refuse_bomb(unpacked, packed, limits)
        return
    with pytest.raises(SubmissionError) as refused:
        refuse_bomb(unpacked, packed, limits)
    assert str(refused.value) == (
        "the archive unpacks to more than 100 times its size, like a decompression bomb; "
        "leave out large empty files"
    )


def zip_with(*names: bytes, utf8: bool = False, system: int = 3) -> bytes:
    """Return a zip whose directory has these names, from a *system*: 0 and 11 are Windows, 3 is Unix."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for number, name in enumerate(names):
            entry = zipfile.ZipInfo(f"{number:0{len(name)}}")
            entry.create_system = system
            archive.writestr(entry, b"x")
    data = content.getvalue()
    for number, name in enumerate(names):
        data = data.replace(f"{number:0{len(name)}}".encode(), name)
    if utf8:  # a flag, in each entry and in the directory
        data = re.sub(rb"(PK\x03\x04..)..", b"\\1\x00\x08", data, flags=re.DOTALL)
        data = re.sub(rb"(PK\x01\x02....)..", b"\\1\x00\x08", data, flags=re.DOTALL)
    return data


@pytest.mark.parametrize(
    ("content", "files"),
    [
        (zip_with(b"a/bc", b"a/bd"), {"a", "a/bc", "a/bd"}),
        (zip_with(b"aaa\\b1", b"aaa\\b2"), {"aaa", "aaa/b1", "aaa/b2"}),
        (zip_with(b"aaa\\b1"), {"aaa\\b1"}),
        (zip_with(b"aaa\\b1", b"ccc/d1"), {"aaa\\b1", "ccc", "ccc/d1"}),
        (zip_with(b"aaa\\b1", system=0), {"aaa", "aaa/b1"}),
        (zip_with(b"caf\xe9"), {"caf\udce9"}),
        (zip_with(b"caf\xc3\xa9"), {"café"}),
        (zip_with(b"caf\xc3\xa9", utf8=True), {"café"}),
    ],
)
def test_names_in_a_zip_are_the_bytes_that_were_packed(tmp_path: Path, content: bytes, files: set[str]) -> None:
    """Backslashes separate where the zip is of Windows, or where they alone make folders."""
    assert set(snapshot(unpack(content, tmp_path))) == files
