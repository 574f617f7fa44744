"""Reading and editing one file: what a model is told, and what stays as it was."""

import base64
import io
import json
import sys
from pathlib import Path

import pytest

from groundup.inside import guest_files
from groundup.inside.guest_files import edit, read


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({}, "1\ta\n2\tb\n3\tc\n"),
        ({"start": 2}, "2\tb\n3\tc\n"),
        ({"start": 2, "lines": 1}, "2\tb\n[1 more lines]\n"),
        ({"lines": 2}, "1\ta\n2\tb\n[1 more lines]\n"),
        ({"start": 3, "lines": 5}, "3\tc\n"),
        ({"start": 4}, ""),
        ({"start": 9}, ""),
    ],
)
def test_lines_are_numbered_and_those_left_are_counted(
    tmp_path: Path, given: dict[str, object], shown: str
) -> None:
    """From 1 on; at most 2,000 unless more are asked for."""
    (tmp_path / "file").write_text("a\nb\nc")
    assert read(tmp_path / "file", given) == shown
    (tmp_path / "long").write_text("x\n" * 2001)
    assert read(tmp_path / "long", {}).endswith("2000\tx\n[1 more lines]\n")
    for wrong in ({"start": -1}, {"lines": -1}):
        with pytest.raises(ValueError, match="count from 1"):
            read(tmp_path / "file", wrong)


def test_a_text_is_replaced_where_it_is_meant(tmp_path: Path) -> None:
    """Once, or everywhere when asked; a new file is written, and whatever bytes and line ends it has stay."""
    file = tmp_path / "deep" / "file"
    assert edit(file, {"old": "", "new": "a\r\nb\n"}) == f"{file} is written\n"
    file.write_bytes(b"\xff" + file.read_bytes() + b"a")
    assert edit(file, {"old": "b", "new": "c"}) == f"replaced in {file}, 1 time\n"
    assert file.read_bytes() == b"\xffa\r\nc\na"
    with pytest.raises(ValueError, match="holds the old text 2 times"):
        edit(file, {"old": "a", "new": "x"})
    assert edit(file, {"old": "a", "new": "x", "all": True}) == f"replaced in {file}, 2 times\n"
    assert file.read_bytes() == b"\xffx\r\nc\nx"
    for old, told in (("", "is not empty"), ("absent", "does not hold the old text")):
        with pytest.raises(ValueError, match=told):
            edit(file, {"old": old, "new": "y"})
    with pytest.raises(TypeError, match="texts"):
        edit(file, {"old": 1, "new": "y"})
    (tmp_path / "empty").touch()
    assert edit(tmp_path / "empty", {"old": "", "new": "y"}) == f"{tmp_path / 'empty'} is written\n"


@pytest.mark.parametrize(
    ("data", "is_image"),
    [
        (b"\x89PNG\r\n\x1a\n....", True),
        (b"\xff\xd8\xff", True),
        (b"GIF89a", True),
        (b"RIFF....WEBP", True),
        (b"RIFF....WAVE", False),
        (b"text WEBP", False),
    ],
)
def test_images_are_known_by_their_first_bytes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
    data: bytes,
    is_image: bool,
) -> None:
    """They end with 3, so that they are shown as such, up to a size; what cannot be done ends with 1."""
    file = tmp_path / "file"
    file.write_bytes(data)

    def main(word: str, **given: object) -> tuple[int, bytes]:
        monkeypatch.setattr(sys, "argv", ["files", word])
        monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(given)))
        code = guest_files.main()
        sys.stdout.flush()
        return code, capfdbinary.readouterr().out

    code, said = main("read", path=str(file))
    assert code == (3 if is_image else 0)
    assert (said == f"{file} is an image of {len(data)} bytes".encode()) is is_image
    assert main("image", path=str(file)) == (0, base64.b64encode(data))
    assert main("edit", path=str(file)) == (1, b"nothing was done: 'old' is missing\n")
    code, said = main("read", path=str(tmp_path / "none"))
    assert (code, said.startswith(b"nothing was done: ")) == (1, True)
    for size, code in ((3 << 20, 0), ((3 << 20) + 1, 1)):
        with file.open("wb") as large:
            large.truncate(size)
        assert main("image", path=str(file))[0] == code


def test_names_in_a_folder_are_listed(tmp_path: Path) -> None:
    """In their order."""
    for name in ("b", "a"):
        (tmp_path / name).touch()
    assert read(tmp_path, {}) == "a\nb\n"
