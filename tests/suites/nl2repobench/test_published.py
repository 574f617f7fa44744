"""Reading the published data."""

import json
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.suites.nl2repobench.published import Nl2RepoBenchData, read_published
from groundup.suites.nl2repobench.suite import Nl2RepoBench


def _task(root: Path, /, **files: str | None) -> Path:
    folder = root / "lib"
    folder.mkdir(parents=True)
    content = {
        "start.md": "# lib",
        "test_commands.json": '["pytest tests"]',
        "test_files.json": '["tests"]',
        "test_case_count.txt": "12\n",
    }
    for file, text in {**content, **{key.replace("__", "."): value for key, value in files.items()}}.items():
        if text is not None:
            (folder / file).write_text(text, encoding="utf-8")
    return folder


def test_a_task_is_read_whole(tmp_path: Path) -> None:
    """All four files arrive typed, and an unknown release is named by its digest."""
    _task(tmp_path)
    data = read_published(tmp_path)
    task = data.tasks[0]
    assert (task.id, task.specification, task.declared) == ("lib", "# lib", 12)
    assert (task.commands, task.test_files) == (("pytest tests",), ("tests",))
    assert data.version.startswith("sha256-")


def test_a_checkout_and_its_sub_folder_read_the_same(tmp_path: Path) -> None:
    """Users may point at the repository or at its data folder."""
    _task(tmp_path / "test_files")
    assert read_published(tmp_path) == read_published(tmp_path / "test_files")


def test_a_missing_specification_is_absent_not_invented(tmp_path: Path) -> None:
    """A task without start.md can still be graded."""
    _task(tmp_path, start__md=None)
    assert read_published(tmp_path).tasks[0].specification is None


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"test_case_count__txt": "twelve"}, "test_case_count.txt: must hold one positive whole number"),
        ({"test_case_count__txt": "0"}, "test_case_count.txt: must hold one positive whole number"),
        ({"test_case_count__txt": None}, "test_case_count.txt: missing"),
        ({"test_commands__json": "["}, "test_commands.json:1: not JSON"),
        ({"test_commands__json": '{"a": 1}'}, "test_commands.json: must be a list of strings"),
        ({"test_files__json": json.dumps(["../other"])}, "not a relative path inside the workspace"),
        ({"test_files__json": json.dumps(["/etc"])}, "not a relative path inside the workspace"),
    ],
)
def test_a_wrong_file_is_named(tmp_path: Path, files: dict[str, str | None], sentence: str) -> None:
    """The error names the file and what is wrong with it."""
    _task(tmp_path, **files)
    with pytest.raises(UsageError, match=sentence):
        read_published(tmp_path)


def test_data_are_read_once_until_a_file_changes(tmp_path: Path) -> None:
    """A command that opens the suite four times reads its files once; a change of one of them is seen."""
    folder = _task(tmp_path)
    first = read_published(tmp_path)
    assert read_published(tmp_path) is first
    (folder / "start.md").write_text("# changed")
    assert read_published(tmp_path).tasks[0].specification == "# changed"


def test_only_the_specification_that_is_asked_for_is_read(tmp_path: Path) -> None:
    """All are 10 MB, which a run of one task need not read; one that is no text is refused when data is pulled."""
    _task(tmp_path)
    (tmp_path / "other").mkdir()
    for file in (tmp_path / "lib").iterdir():
        (tmp_path / "other" / file.name).write_bytes(file.read_bytes())
    (tmp_path / "other" / "start.md").write_bytes(b"\xff")
    tasks = Nl2RepoBench({}, read_published(tmp_path)).by_name()
    assert list(tasks) == ["lib", "other"]
    assert tasks["lib"].instruction == "# lib"
    for read in (lambda: tasks["other"], lambda: Nl2RepoBenchData().check(tmp_path)):
        with pytest.raises(UsageError, match="not UTF-8 at byte 0"):
            read()


def test_an_empty_folder_is_not_data(tmp_path: Path) -> None:
    """Pointing at the wrong folder says so."""
    with pytest.raises(UsageError, match="is this the published data"):
        read_published(tmp_path)
