"""What archives hold: code is found in wheels inside wheels, and what cannot be read is named."""

import gzip
import inspect
import io
import tarfile
import textwrap
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from groundup.trees import fingerprints
from groundup.trees.fingerprints import contents_of_archive, contents_of_folder, prints_of

CODE = inspect.getsource(textwrap).encode()


def zipped(**members: bytes) -> bytes:
    """Return a zip with these members, `__` in a name for a slash."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "/"), data)
    return buffer.getvalue()


def tarred(name: str, data: bytes, mode: str) -> bytes:
    """Return a tar with one member."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]  # a mode for writing
        member = tarfile.TarInfo(name)
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz", "w"])
def test_archives_are_looked_into_to_their_depth(tmp_path: Path, mode: str) -> None:
    """A wheel in a wheel in a source distribution is read, and named by its way."""
    inner = zipped(**{"lib___vendor__six.py": CODE})
    path = tmp_path / "demo-1.0.tar"
    path.write_bytes(
        tarred("demo/wheels/pip.whl", zipped(**{"embed.whl": inner, "x.txt": b"nothing" * 100}), mode)
    )
    found = contents_of_archive(path, "demo-1.0.tar")
    (place,) = found.prints
    assert place == "demo-1.0.tar!demo/wheels/pip.whl!embed.whl!lib/_vendor/six.py"
    assert found.prints[place] == prints_of(CODE)
    assert found.unread == []


def test_code_is_found_by_any_name(tmp_path: Path) -> None:
    """Code in a file that does not look like it counts, also one that is compressed by itself; data does not."""
    path = tmp_path / "demo.whl"
    path.write_bytes(
        zipped(**{"a.tmpl": CODE, "b.gz": gzip.compress(CODE), "c.json": b'{"a": 1}' * 900, "d.py": b"\0" + CODE})
    )
    assert sorted(contents_of_archive(path, "demo.whl").prints) == ["demo.whl!a.tmpl", "demo.whl!b.gz!content"]


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    """A damaged archive inside does not hide what lies beside it, and is not taken for empty."""
    whole = zipped(**{"lib.py": CODE})
    path = tmp_path / "demo.whl"
    path.write_bytes(zipped(**{"a.whl": whole[: len(whole) // 2], "b.py": CODE}))
    found = contents_of_archive(path, "demo.whl")
    assert list(found.prints) == ["demo.whl!b.py"]
    assert [line.partition(": ")[0] for line in found.unread] == ["demo.whl!a.whl"]


@pytest.mark.parametrize(
    "packed", [lambda inner: zipped(**{"a.whl": inner, "b.py": CODE}), lambda inner: tarred("a.whl", inner, "w")]
)
def test_a_large_archive_inside_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: Callable[[bytes], bytes]
) -> None:
    """It is not read, and is no hiding place; what lies beside it is read all the same."""
    monkeypatch.setattr(fingerprints, "_NESTED_BYTES", 40_000)
    path = tmp_path / "demo.tar"
    path.write_bytes(packed(zipped(zeros=bytes(60_000_000))))
    found = contents_of_archive(path, "demo.tar")
    assert [line.partition(": ")[0] for line in found.unread] == ["demo.tar!a.whl"]
    assert list(found.prints) in ([], ["demo.tar!b.py"])


def test_a_bomb_ends_early(tmp_path: Path) -> None:
    """Archives in archives end at a depth, and what unpacks to too much is named."""
    nested = zipped(**{"lib.py": CODE})
    for _ in range(6):
        nested = zipped(**{"in.zip": nested})
    path = tmp_path / "deep.zip"
    path.write_bytes(nested)
    found = contents_of_archive(path, "deep.zip")
    assert not found.prints
    assert "too many archives inside each other" in found.unread[0]
    path.write_bytes(zipped(**{"zeros.tar.gz": gzip.compress(b"\0" * (66 << 20), 9)}))
    assert "bomb" in contents_of_archive(path, "deep.zip").unread[0]


def test_a_folder_is_searched_with_its_archives(tmp_path: Path) -> None:
    """Links are not followed, and folders that are left out are not left out with what is in them."""
    for name in ("lib", "lib/inner", "away"):
        (tmp_path / "root" / name).mkdir(parents=True)
        (tmp_path / "root" / name / "code.py").write_bytes(CODE)
    (tmp_path / "root/link.py").symlink_to("lib/code.py")
    (tmp_path / "root/tool.pex").write_bytes(b"#!/usr/bin/env python\n" + zipped(**{"m.py": CODE}))
    (tmp_path / "root/cut.zip").write_bytes(zipped(**{"m.py": CODE})[:-30])
    found = contents_of_folder(tmp_path / "root", lambda folder: folder.endswith(("lib", "away")))
    assert sorted(found.prints) == ["lib/inner/code.py", "tool.pex!m.py"]
    assert [line.partition(": ")[0] for line in found.unread] == ["cut.zip"]


def test_an_encrypted_part_is_named(tmp_path: Path) -> None:
    """Nobody can say what it holds; what is too small to be a copy of anything may be encrypted."""
    for code, unread in ((CODE, ["demo.zip: a part of it is encrypted"]), (b"x = 1", [])):
        data = bytearray(zipped(**{"a.py": code}))
        data[data.index(b"PK\x01\x02") + 8] |= 1
        (tmp_path / "demo.zip").write_bytes(data)
        assert contents_of_archive(tmp_path / "demo.zip", "demo.zip").unread == unread
