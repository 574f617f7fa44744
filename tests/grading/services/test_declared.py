"""Reading requirements.txt."""

from pathlib import Path

import pytest

from groundup.grading.services.install import read_declared
from tests.grading.library.laboratory import write_tree


def test_no_file_declares_nothing(tmp_path: Path) -> None:
    """Declaring nothing differs from declaring an empty list."""
    assert read_declared(tmp_path) is None


def test_lines_are_read_as_pip_reads_them(tmp_path: Path) -> None:
    """Comments, joined lines, includes, hashes and options of the index are understood."""
    text = (
        "# web\nflask>=3 # core\n\n--index-url https://example.org/simple\n"
        "httpx[http2]>=0.27; python_version > '3'\n"
        "requests==2.32.0 \\\n  --hash=sha256:00\n-r more/extra.txt\n-c constraints.txt\n"
    )
    tree = write_tree(tmp_path, {"requirements.txt": text, "more/extra.txt": "attrs\n-r ../requirements.txt\n"})
    declared = read_declared(tree)

    assert declared is not None
    assert declared.requirements == (
        "flask>=3",
        'httpx[http2]>=0.27; python_version > "3"',
        "requests==2.32.0",
        "attrs",
    )
    assert declared.problem is None
    assert len(declared.notes) == 2


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_marks_of_encodings_are_heeded(encoding: str, tmp_path: Path) -> None:
    """A list that a Windows shell wrote is read, too."""
    (tmp_path / "requirements.txt").write_text("flask\nattrs\n", encoding=encoding)
    declared = read_declared(tmp_path)

    assert declared is not None
    assert declared.requirements == ("flask", "attrs")


@pytest.mark.parametrize(
    "line",
    [
        "-e .",
        "./local",
        "git+https://example.org/a.git",
        "a @ https://example.org/a.whl",
        "-r gone.txt",
        "two words",
    ],
)
def test_what_no_index_has_is_a_problem(line: str, tmp_path: Path) -> None:
    """The whole install fails, as pip's would without a network, and the line is named."""
    declared = read_declared(write_tree(tmp_path, {"requirements.txt": f"flask\n{line}\n"}))

    assert declared is not None
    assert declared.problem


def test_nothing_outside_of_the_submission_is_read(tmp_path: Path) -> None:
    """An include cannot lead to the host's files."""
    write_tree(tmp_path, {"secret.txt": "attrs\n", "tree/requirements.txt": "-r ../secret.txt\n"})
    declared = read_declared(tmp_path / "tree")

    assert declared is not None
    assert declared.requirements == ()
    assert "no file of the submission" in (declared.problem or "")
