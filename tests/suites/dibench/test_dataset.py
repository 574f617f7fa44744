"""Reading the published data: strictly, with errors that name line and field."""

import json
from pathlib import Path

import pytest

from groundup.domain.errors import TaskError, UsageError
from groundup.registries.names import NoNames
from groundup.settings import Settings
from groundup.suites.dibench.answers import original
from groundup.suites.dibench.dataset import read_dataset
from groundup.suites.dibench.suite import DiBench
from groundup.suites.opening import named_suite
from tests.suites.dibench.made import instance, write_dataset


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"language": "cobol"}, "language: must be"),
        ({"patch": ""}, "patch: "),
        ({"build_files": []}, "build_files: "),
        ({"build_files": ["/etc/passwd"]}, "build_files.0: "),
        ({"ci_file": "../x"}, "ci_file: "),
        ({"instance_id": "../x"}, "instance_id: "),
        ({"surprise": 1}, "surprise: "),
        ({"env_specs": {"SDK": 1}}, "env_specs.SDK: "),
    ],
)
def test_errors_name_line_and_field(tmp_path: Path, changes: dict[str, object], expected: str) -> None:
    """What is wrong is found without reading anything else."""
    lines = [json.dumps(instance("one_alpha")), "", json.dumps(instance("two_beta", **changes))]
    (tmp_path / "regular.jsonl").write_text("\n".join(lines))
    with pytest.raises(UsageError, match=rf"regular\.jsonl, line 3: {expected}"):
        read_dataset(tmp_path)


@pytest.mark.parametrize(
    ("line", "expected"), [(b"{", "not JSON"), (b"[]", "an object"), (b'{"a": "\xff"}', "not UTF-8")]
)
def test_lines_that_are_no_objects(tmp_path: Path, line: bytes, expected: str) -> None:
    """A line that cannot be read is named."""
    (tmp_path / "regular.jsonl").write_bytes(line)
    with pytest.raises(UsageError, match=f"line 1: {expected}"):
        read_dataset(tmp_path)


def test_subsets_and_folders(tmp_path: Path) -> None:
    """The file's name says the subset; repositories are found in each published layout."""
    root = write_dataset(tmp_path / "a", large=("two_beta",))
    found = {problem.id: problem for problem in read_dataset(root).problems}
    assert found["two_beta"].subset == "large"
    assert found["one_alpha"].repository == root / "repo-data/python/one_alpha"
    (root / "dibench-large-rust").mkdir()
    (root / "repo-data/rust").rename(root / "dibench-large-rust/rust")
    again = {problem.id: problem for problem in read_dataset(root).problems}
    assert again["two_beta"].repository == root / "dibench-large-rust/rust/two_beta"


def test_ids_that_stand_twice(tmp_path: Path) -> None:
    """In one file: refused. In two subsets: distinguished by language and subset."""
    root = write_dataset(tmp_path / "a")
    line = json.dumps(instance("one_alpha")) + "\n"
    (root / "large.jsonl").write_text(line)
    names = {problem.id for problem in read_dataset(root).problems}
    assert {"one_alpha.python.regular", "one_alpha.python.large"} <= names
    (root / "large.jsonl").write_text(line * 2)
    with pytest.raises(UsageError, match="one_alpha stands there twice"):
        read_dataset(root)


def test_a_patch_that_does_not_fit_is_the_tasks_fault(tmp_path: Path) -> None:
    """No one's prediction is blamed for damaged data."""
    root = write_dataset(tmp_path / "a")
    (root / "repo-data/python/one_alpha/pyproject.toml").write_text("something else\n")
    problem = next(one for one in read_dataset(root).problems if one.id == "one_alpha")
    with pytest.raises(TaskError, match=r"the published patch does not fit pyproject\.toml"):
        original(problem)


def test_a_repository_that_is_not_there(tmp_path: Path) -> None:
    """The error says which archive is missing."""
    root = write_dataset(tmp_path / "a")
    (root / "repo-data/rust/two_beta").rename(tmp_path / "gone")
    problem = next(one for one in read_dataset(root).problems if one.id == "two_beta")
    with pytest.raises(TaskError, match="there is no folder rust/two_beta"):
        problem.read("Cargo.toml")


def test_a_link_that_leads_out_is_not_followed(tmp_path: Path) -> None:
    """Data from a stranger's archive cannot make graders read other files."""
    root = write_dataset(tmp_path / "a")
    file = root / "repo-data/python/one_alpha/pyproject.toml"
    file.unlink()
    file.symlink_to("/etc/hostname")
    problem = next(one for one in read_dataset(root).problems if one.id == "one_alpha")
    with pytest.raises(TaskError, match="leads out of the repository"):
        problem.read("pyproject.toml")


def test_the_data_of_one_task_is_read_as_that_task(tmp_path: Path) -> None:
    """In an image of its own: the same name, though others share its id, and its repository alone."""
    source = write_dataset(tmp_path / "source")
    (source / "dataset-dibench-large.jsonl").write_text(json.dumps(instance("one_alpha")) + "\n")
    suite = DiBench(read_dataset(source), NoNames())
    task = next(task for task in suite.tasks() if task.id == "one_alpha.python.regular")
    (target := tmp_path / "data").mkdir()
    assert suite.graders()["strict"].write_data(task, target)
    again = {problem.id: problem for problem in read_dataset(target).problems}
    assert set(again) == {"one_alpha.python.regular", "one_alpha.python.large"}
    assert again[task.id].folder().is_relative_to(target)
    assert len(list(target.glob("*/*"))) == 1
    assert not suite.graders()["execution"].write_data(task, target)


def test_jobs_without_a_toolchain_are_told_beside_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names are compared everywhere; a sentence says which languages' jobs cannot be executed, and why."""
    suite = DiBench(read_dataset(write_dataset(tmp_path / "data")), NoNames())
    monkeypatch.setenv("PATH", str(tmp_path))
    assert all(row[1] == "yes" for row in suite.task_rows()[1])
    said = next(one for one in suite.beside() if "C#" in one)
    assert said.endswith(
        "in C# cannot be executed: dotnet is not on this machine; install a .NET SDK and put `dotnet` on PATH"
    )
    for program in ("dotnet", "node", "rustc"):
        (tmp_path / program).touch(mode=0o755)
    assert suite.beside() == []


def test_a_folder_of_instances_is_told_how_to_be_a_suite(tmp_path: Path) -> None:
    """It is data that can be pulled, and no set; of another folder nothing is known."""
    place = write_dataset(tmp_path / "mine")
    settings = Settings(data_dir=tmp_path / "data", cache_dir=tmp_path / "cache")
    with pytest.raises(UsageError, match=f"groundup data pull dibench@mine --from {place}"):
        named_suite(str(place), settings)
    (tmp_path / "bare").mkdir()
    with pytest.raises(UsageError, match=r"is no set: it has no set\.json; name a suite"):
        named_suite(str(tmp_path / "bare"), settings)
