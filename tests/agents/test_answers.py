"""Files in replies: what is written in the prompt's form comes back; nothing gets into another file's place."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.agents.answers import blocks, fenced, plain_path, put_file, read_files
from groundup.domain.errors import SubmissionError

NAMES = st.text("abcdefgh.-_0 é", min_size=1, max_size=12).filter(
    lambda name: name.strip() == name and name.strip(".")
)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
LINES = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["```", "```python", "````", "~~~", "```path=x.py", "### a.py", "**b.py**", "File: c.py", "\r"]
    ),
)
CONTENTS = st.lists(LINES, max_size=12).map("\n".join).filter(lambda text: "\0" not in text)
PROSE = st.lists(st.text("abc XYZ.:*#`-", max_size=20).filter(lambda line: "``" not in line), max_size=3).map(
    "\n".join
)


def ended(text: str) -> bytes:
    """Return *text* as a block can say it: with an end of its last line."""
    return (text if text.endswith("\n") or not text else f"{text}\n").encode(errors="replace")


@given(st.lists(st.tuples(PATHS, CONTENTS, PROSE), max_size=4, unique_by=lambda file: file[0]))
def test_what_is_written_in_the_form_is_read_back(files: list[tuple[str, str, str]]) -> None:
    """Any set of files, with any text between them and any fences in them, comes back as it was."""
    reply = "\n".join(f"{prose}\n\n{fenced(path, content)}" for path, content, prose in files)
    answer = read_files(reply)
    assert answer.files == {path: ended(content) for path, content, _ in files}
    assert answer.problems == ()


@given(st.text(max_size=400), st.data())
def test_any_reply_can_be_read(text: str, data: st.DataObject) -> None:
    """No text makes the reader fail, and every path that it gives stays inside."""
    pieces = st.sampled_from(["```", "\n", "path=", "../x", "/etc/passwd", "a.py", "### ", "````", "~~~", text])
    reply = "".join(data.draw(st.lists(pieces, max_size=30)))
    for path in read_files(reply).files:
        assert not path.startswith("/")
        assert ".." not in path.split("/")
    list(blocks(reply))


@pytest.mark.parametrize(
    "opening",
    [
        "```path=src/a.py",
        "```python path=src/a.py",
        '```python title="src/a.py"',
        "```python:src/a.py",
        "```src/a.py",
        "```python src/a.py",
        "```{.python file=src/a.py}",
        "### src/a.py\n```python",
        "### `src/a.py`\n\n```python",
        "**src/a.py**\n```",
        "**`src/a.py`**:\n```py",
        "File: src/a.py\n```python",
        "1. **File: `src/a.py`**\n```python",
        "- src/a.py:\n```python",
        "```path=/workspace/src/a.py",
        "```path=./src/a.py",
    ],
)
def test_names_are_read_as_models_write_them(opening: str) -> None:
    """The usual ways of saying which file a block is."""
    assert read_files(f"Here it is.\n\n{opening}\nx = 1\n```\nBye.").files == {"src/a.py": b"x = 1\n"}


@pytest.mark.parametrize("opening", ["```bash", "Run it:\n```", "Version 1.2.3 is this\n```", "```text"])
def test_a_block_without_a_name_is_no_file(opening: str) -> None:
    """Commands and examples are not written anywhere."""
    assert read_files(f"{opening}\npip install x\n```\n").files == {}


@pytest.mark.parametrize("path", ["../a.py", "/etc/passwd", "a/../../b", "~/.ssh/x", "a\\b", "a/"])
def test_paths_that_lead_outside_are_refused(path: str) -> None:
    """They are reported as problems and nothing is written."""
    answer = read_files(f'```path="{path}"\nx\n```\n')
    assert answer.files == {}
    assert len(answer.problems) == 1


def test_a_file_that_was_cut_off_is_left_out() -> None:
    """Half a file is none; the files before it count."""
    answer = read_files("```path=a.py\na\n```\n```path=b.py\nb")
    assert answer.files == {"a.py": b"a\n"}
    assert answer.problems == ("b.py has no end and is left out",)


def test_a_file_never_gets_the_next_files_content() -> None:
    """Where a block has no end before the next one begins, it is the one that is lost."""
    answer = read_files("```path=a.py\na\n\n```path=b.py\nb\n```\n")
    assert answer.files == {"b.py": b"b\n"}
    assert answer.problems == ("a.py has no end and is left out",)


def test_a_readme_may_hold_blocks_of_the_same_length() -> None:
    """In a text a block that names its language is an inner one, as models write READMEs."""
    text = "# Title\n```bash\npip install x\n```\nMore.\n"
    answer = read_files(f"```path=README.md\n{text}```\n```path=a.py\na\n```\n")
    assert answer.files == {"README.md": text.encode(), "a.py": b"a\n"}


def test_the_last_word_on_a_file_counts() -> None:
    """A reply that corrects itself is taken at its correction."""
    assert read_files(fenced("a.py", "1") + fenced("a.py", "2")).files == {"a.py": b"2\n"}


@pytest.mark.parametrize(
    ("text", "path"), [("./a", "a"), ("a//b", "a/b"), ("`a.py`", "a.py"), ("..", None), ("", None)]
)
def test_plain_paths(text: str, path: str | None) -> None:
    """What is decoration goes; what is no path inside is None."""
    assert plain_path(text) == path


def test_files_are_not_written_through_links(tmp_path: Path) -> None:
    """A link in a seeded repository leads no file out of the workspace, neither as a folder nor as the file."""
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    root.mkdir()
    (root / "folder").symlink_to(outside)
    (root / "file").symlink_to(outside / "file")
    for path in ("folder/x", "file"):
        with pytest.raises(SubmissionError, match="cannot be written"):
            put_file(root, path, b"x")
    put_file(root, "a/b/c", b"x")
    assert (root / "a/b/c").read_bytes() == b"x"
    assert list(outside.iterdir()) == []


def test_writing_a_file_leaves_nothing_open(tmp_path: Path) -> None:
    """However many folders lead to it, and whether it can be written or not."""
    (tmp_path / "file").touch()
    before = len([*Path("/proc/self/fd").iterdir()])
    put_file(tmp_path, "a/b/c/d", b"x")
    for wrong in ("file/below", "a/b", "a/" + "n" * 300):
        with pytest.raises(SubmissionError) as refused:
            put_file(tmp_path, wrong, b"x")
        assert str(refused.value).startswith(f"{wrong[:200]} cannot be written: ")
    assert len([*Path("/proc/self/fd").iterdir()]) == before
    assert (tmp_path / "a/b/c/d").read_bytes() == b"x"
    put_file(tmp_path, "a/b/c/d", b"")
    assert (tmp_path / "a/b/c/d").read_bytes() == b""
