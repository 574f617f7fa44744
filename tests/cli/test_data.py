"""`groundup data`: published data comes onto the machine whole, and is named."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.conftest import TWO, Groundup
from tests.needs import need
from tests.suites.repogenesis.folders import make_task

TASK = {
    "start.md": "Write calc.",
    "test_commands.json": '["pip install -e .", "pytest tests"]',
    "test_files.json": '["tests"]',
    "test_case_count.txt": "7\n",
}
ADDRESS = "https://github.com/multimodal-art-projection/NL2RepoBench"


def write(folder: Path, files: Mapping[str, str] = TASK) -> Path:
    """Write a release of the data that has one task."""
    task = folder / "test_files" / "calc"
    task.mkdir(parents=True)
    for name, text in files.items():
        (task / name).write_text(text)
    return folder


@pytest.fixture
def commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Publish a release of the data where Git's configuration finds it; return its commit."""
    need("git")
    folder = write(tmp_path / "upstream")
    git = ("git", "-c", "user.name=t", "-c", "user.email=t@example.invalid")
    for arguments in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-qm", "data")):
        subprocess.run([*git, *arguments], cwd=folder, check=True)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.{folder}.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", ADDRESS)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True)
    return head.stdout.strip()


def test_a_pull_brings_specifications(groundup: Groundup, commit: str) -> None:
    """After a pull, from a mirror that Git knows and by a short name, tasks have their specification."""
    pulled = groundup("data", "pull", "nl2repobench", "--commit", commit[:7], "--json")

    assert pulled.code == 0
    assert json.loads(pulled.out)["licence"]
    assert json.loads(pulled.out)["commit"] == commit
    (listed,) = [
        row for row in json.loads(groundup("tasks", "nl2repobench", "--json").out)["tasks"] if row["id"] == "calc"
    ]
    assert listed["metadata"]["declared"] == 7
    assert listed["data_version"].startswith("sha256-"), "a release that nobody named is called by its digest"


def test_a_folder_is_taken_and_named(groundup: Groundup, tmp_path: Path) -> None:
    """`--from` takes a checkout; `data list` says what is at hand and where it is from."""
    assert json.loads(groundup("data", "list", "--json").out)["suites"]
    folder = write(tmp_path / "checkout")
    pulled = groundup("data", "pull", "nl2repobench", "--from", folder)
    assert pulled.code == 0
    assert "licence" not in pulled.err + pulled.out, "tasks of one's own are not the publishers'"

    suites = {one["suite"]: one for one in json.loads(groundup("data", "list", "--json").out)["suites"]}
    assert suites["nl2repobench"]["at_hand"]["source"] == str(folder)
    assert str(folder) in groundup("data", "list").out


def test_wrong_data_replaces_nothing(groundup: Groundup, tmp_path: Path) -> None:
    """Data is read strictly before it is put in place; the error names the user's own file."""
    good = write(tmp_path / "good")
    bad = write(tmp_path / "bad", {**TASK, "test_case_count.txt": "seven"})
    groundup("data", "pull", "nl2repobench", "--from", good)
    refused = groundup("data", "pull", "nl2repobench", "--from", bad)

    assert refused.code == 2
    assert f"{bad}/test_files/calc/test_case_count.txt" in refused.err
    assert str(good) in groundup("data", "list").out


def test_damaged_data_can_be_pulled_again(groundup: Groundup, tmp_path: Path) -> None:
    """A suite whose data cannot be read any more is mended by the command that its error names."""
    good = write(tmp_path / "good")
    groundup("data", "pull", "nl2repobench", "--from", good)
    (tmp_path / "cache/data/nl2repobench/data/test_files/calc/test_files.json").unlink()
    assert groundup("tasks", "nl2repobench").code == 2
    assert groundup("data", "pull", "nl2repobench", "--from", good).code == 0
    assert groundup("tasks", "nl2repobench").code == 0


def test_pulling_what_is_there_takes_nothing_away(groundup: Groundup, tmp_path: Path) -> None:
    """A run that reads the data goes on while the same data is pulled again."""
    good, same = write(tmp_path / "good"), write(tmp_path / "same")
    groundup("data", "pull", "nl2repobench", "--from", good)
    with (tmp_path / "cache/data/nl2repobench/data/test_files/calc/start.md").open() as reading:
        assert groundup("data", "pull", "nl2repobench", "--from", same).code == 0
        assert Path(reading.name).stat().st_ino == os.fstat(reading.fileno()).st_ino
    assert str(same) in groundup("data", "list").out


def test_data_sets_stand_beside_each_other(groundup: Groundup, commit: str, tmp_path: Path) -> None:
    """One's own data never replaces the published: it is refused, or has a name by which commands find it."""
    own = write(tmp_path / "own", {**TASK, "test_case_count.txt": "9"})
    groundup("data", "pull", "nl2repobench", "--commit", commit)
    published = groundup("tasks", "nl2repobench", "--json").out

    refused = groundup("data", "pull", "nl2repobench", "--from", own)
    assert refused.code == 2
    assert "nl2repobench@NAME" in refused.err
    assert groundup("tasks", "nl2repobench@mine").code == 2, "there is no such data set yet"
    assert groundup("data", "pull", "nl2repobench@mine", "--from", own).code == 0

    assert groundup("tasks", "nl2repobench", "--json").out == published
    (mine,) = [
        one
        for one in json.loads(groundup("tasks", "nl2repobench@mine", "--json").out)["tasks"]
        if one["id"] == "calc"
    ]
    assert mine["metadata"]["declared"] == 9
    sources = {
        one["suite"]: one["at_hand"]["source"]
        for one in json.loads(groundup("data", "list", "--json").out)["suites"]
        if one["at_hand"]
    }
    assert sources == {"nl2repobench": ADDRESS, "nl2repobench@mine": str(own)}


def test_the_published_data_does_not_replace_one_s_own(groundup: Groundup, commit: str, tmp_path: Path) -> None:
    """It is said before anything is fetched; another commit of the same repository does replace."""
    own = write(tmp_path / "own")
    groundup("data", "pull", "nl2repobench", "--from", own)
    assert groundup("data", "pull", "nl2repobench", "--commit", commit).code == 2
    assert str(own) in groundup("data", "list").out


def test_a_folder_is_pulled_again_after_it_was_edited(groundup: Groundup, tmp_path: Path) -> None:
    """Who makes tasks pulls the same folder again and again; only the copy that groundup made is replaced."""
    own = write(tmp_path / "own")
    groundup("data", "pull", "nl2repobench", "--from", own)
    (own / "test_files" / "calc" / "start.md").write_text("Write a better calc.")
    ended = groundup("data", "pull", "nl2repobench", "--from", own, "--json")
    assert (ended.code, json.loads(ended.out)["kept"]) == (0, None)
    assert {path.name for path in (tmp_path / "cache" / "data").iterdir()} == {"nl2repobench"}


def test_pulled_data_that_somebody_changed_is_kept(groundup: Groundup, tmp_path: Path) -> None:
    """Who edited the data in place, or put something beside it, finds it where the command says."""
    own = write(tmp_path / "own")
    groundup("data", "pull", "nl2repobench", "--from", own)
    (tmp_path / "cache/data/nl2repobench/data/test_files/calc/start.md").write_text("my edit")
    (tmp_path / "cache/data/nl2repobench/notes").write_text("mine")
    (own / "test_files" / "calc" / "start.md").write_text("Write a better calc.")
    ended = groundup("data", "pull", "nl2repobench", "--from", own, "--json")
    kept = Path(json.loads(ended.out)["kept"])
    assert str(kept) in ended.err
    assert (kept / "data/test_files/calc/start.md").read_text() == "my edit"
    assert (kept / "notes").read_text() == "mine"
    assert groundup("tasks", "nl2repobench").code == 0


def test_a_user_s_folder_where_data_would_go_is_left_alone(
    groundup: Groundup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With GROUNDUP_DATA_DIR at a folder of projects, one of which is called as the suite."""
    monkeypatch.setenv("GROUNDUP_DATA_DIR", str(tmp_path))
    project = tmp_path / "nl2repobench" / "data" / "thesis"
    project.mkdir(parents=True)
    ended = groundup("data", "pull", "nl2repobench", "--from", write(tmp_path / "own"))
    assert ended.code == 2
    assert "was not made by `groundup data pull`" in ended.err
    assert project.is_dir()


@pytest.mark.parametrize("name", ["nl2repobench@", "nl2repobench@../x", "nl2repobench@.", "nl2repo@mine"])
def test_a_data_set_s_name_is_checked(groundup: Groundup, tmp_path: Path, name: str) -> None:
    """It becomes a folder's name, and its suite has to exist."""
    ended = groundup("data", "pull", name, "--from", write(tmp_path / "own"))
    assert (ended.code, ended.out) == (2, "")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nl2repobench", "--commit", "HEAD"), "names no commit"),
        (("nl2repobench", "--commit", "0000000"), "has no commit 0000000"),
        (("nl2repobench", "--commit", "0000000", "--from", "."), "exclude each other"),
        (("nl2repobench", "--from", "missing"), "missing is not here"),
        ((TWO,), "no published data"),
    ],
)
@pytest.mark.usefixtures("commit")
def test_what_cannot_be_pulled_is_said(groundup: Groundup, arguments: tuple[str, ...], says: str) -> None:
    """Each wrong request ends with 2 and one sentence."""
    ended = groundup("data", "pull", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err


def test_of_a_whole_checkout_the_folder_with_the_tasks_is_taken(groundup: Groundup, tmp_path: Path) -> None:
    """What else lies in the published repository stays where it is."""
    make_task(tmp_path / "checkout/RepoGenesis/repo")
    (tmp_path / "checkout/large.bin").write_text("x")

    pulled = groundup("data", "pull", "repogenesis", "--from", tmp_path / "checkout")

    assert pulled.code == 0, pulled.err
    assert len([*tmp_path.rglob("test_greeter.py")]) == 2
    assert [*tmp_path.rglob("large.bin")] == [tmp_path / "checkout/large.bin"]
