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
        f"--find-links {'x' * 300}\n"
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
    assert list(declared.notes) == [
        "--index-url https://example.org/simple",
        "-c constraints.txt",
        f"--find-links {'x' * 300}"[:200],
    ]


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


@pytest.mark.parametrize(
    ("line", "project", "required"),
    [
        (
            "-e .",
            {"setup.py": "from setuptools import setup\nsetup(name='a', install_requires=['attrs>=20'])\n"},
            ["attrs>=20"],
        ),
        (".", {"pyproject.toml": "[project]\nname = 'a'\ndependencies = ['six']\n"}, ["six"]),
        (
            "--editable=./backend[fast]",
            {
                "backend/pyproject.toml": "[project]\nname = 'a'\ndependencies = ['six']\n"
                "[project.optional-dependencies]\nfast = ['orjson']\nslow = ['sleepy']\n"
            },
            ["six", "orjson"],
        ),
        ("-e .", {"setup.py": "", "setup.cfg": "[options]\ninstall_requires =\n    six\n"}, ["six"]),
    ],
)
def test_a_submission_may_require_itself(
    line: str, project: dict[str, str], required: list[str], tmp_path: Path
) -> None:
    """Its requirements are those of its project files, and it is imported from where it lies."""
    tree = write_tree(tmp_path / "tree", {"requirements.txt": f"flask\n{line}\n", **project})
    declared = read_declared(tree)

    assert declared is not None
    assert declared.problem is None
    assert list(declared.requirements) == ["flask", *required]
    folder = "backend" if "backend" in line else "."
    assert declared.import_folders == (folder, "src" if folder == "." else "backend/src")


@pytest.mark.parametrize("line", ["-e ..", ".", "./link"])
def test_no_project_of_the_host_is_read(line: str, tmp_path: Path) -> None:
    """A folder outside of the submission is none of it, by whatever way it is named."""
    project = "[project]\nname = 'a'\ndependencies = ['six']\n"
    write_tree(tmp_path, {"pyproject.toml": project, "tree/requirements.txt": f"{line}\n"})
    (tmp_path / "tree/link").symlink_to(tmp_path)
    (tmp_path / "tree/pyproject.toml").symlink_to(tmp_path / "pyproject.toml")
    declared = read_declared(tmp_path / "tree")

    assert declared is not None
    assert declared.problem
    assert declared.requirements == ()


def test_a_version_that_is_no_text_is_the_submissions_fault(tmp_path: Path) -> None:
    """`===` takes whatever stands there, half a pair of surrogates, too, which could not even be digested."""
    (tmp_path / "requirements.txt").write_text("-e .\n")
    (tmp_path / "setup.py").write_text("from setuptools import setup\nsetup(install_requires=['a===\\ud800'])\n")

    declared = read_declared(tmp_path)

    assert declared is not None
    assert declared.problem is not None
    assert "is not a requirement by name and version" in declared.problem
