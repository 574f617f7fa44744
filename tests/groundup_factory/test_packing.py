"""A set given away, installed elsewhere beside others, and its next version."""

import asyncio
import tarfile
from pathlib import Path

import pytest

from groundup.api.runs import run
from groundup.cli.data import data_of_suites, pulled
from groundup.domain.errors import UsageError
from groundup.settings import Settings
from groundup.suites.opening import named_suite
from groundup.suites.sets import name_of_installed, read_manifest
from groundup_factory.packing import SetRefresh, next_version, pack_set, refresh_set
from groundup_factory.sets import SetRequest, make_set
from tests.groundup_factory.test_instance_sets import KIND, REPOSITORIES, WHOLE, committed, settings

__all__ = ["settings"]  # a fixture


def _score(suite: str, subject: str, settings: Settings) -> float | None:
    (verdict,) = run(suite, subject, settings=settings).verdicts.values()
    assert verdict is not None
    assert verdict.score is not None
    return verdict.score.value


def _made(folder: Path, repository: Path, settings: Settings, **more: str) -> None:
    """Make a set of one repository, which is fetched by its address as if it were far away."""
    wanted = SetRequest([f"file://{repository}"], folder, kind=KIND, times=1, **more)  # type: ignore[arg-type]
    made = asyncio.run(make_set(wanted, settings, lambda *_: None))
    assert [(one.standing, one.why) for one in made.entries] == [("accepted", "")]


@pytest.mark.end_to_end
@pytest.mark.needs("git")
def test_a_packed_set_is_installed_beside_its_other_versions(tmp_path: Path, settings: Settings) -> None:
    """Whoever installs it fetches what no licence lets it hold; a version that is there is not replaced."""
    elsewhere = settings.but(data_dir=tmp_path / "elsewhere")
    _made(tmp_path / "my-set", committed(tmp_path / "o" / "n", REPOSITORIES["unlicensed"]), settings)
    archive = tmp_path / "my-set-1.tar.gz"

    packed = pack_set(tmp_path / "my-set", archive)
    pack_set(tmp_path / "my-set", tmp_path / "again.tar.gz")

    assert archive.read_bytes() == (tmp_path / "again.tar.gz").read_bytes()
    (task,) = read_manifest(tmp_path / "my-set").tasks
    assert task.id.startswith("o__n@")
    assert packed.fetched == (task.id,)
    with tarfile.open(archive) as tar:
        names = tar.getnames()
    assert {"set.json", "entries.jsonl", "regular.jsonl", "validity.jsonl"} <= set(names)
    assert not [name for name in names if name.endswith("app.py") or name.startswith(("evidence", ".making"))]

    installed = pulled("mine", source=archive, settings=elsewhere)
    assert installed.suite == "dibench@mine@1"
    assert [_score(name, subject, elsewhere) for name, subject in (("mine@1", "oracle"), ("mine", "nop"))] == [
        1,
        0,
    ]
    assert pulled("mine", source=archive, settings=elsewhere).at_hand == installed.at_hand
    _made(tmp_path / "other", committed(tmp_path / "p" / "n", WHOLE), settings, name="my-set")
    pack_set(tmp_path / "other", tmp_path / "other.tar.gz")
    with pytest.raises(UsageError, match="give this one"):
        pulled("mine", source=tmp_path / "other.tar.gz", settings=elsewhere)
    pulled("theirs", source=tmp_path / "other.tar.gz", settings=elsewhere)
    assert {one.suite for one in data_of_suites(settings=elsewhere)} >= {"dibench@mine@1", "dibench@theirs@1"}


@pytest.mark.end_to_end
@pytest.mark.needs("git")
def test_the_next_version_says_what_changed(tmp_path: Path, settings: Settings) -> None:
    """A task of the same commit is taken over without being executed, one of a newer commit is made again."""
    here = committed(tmp_path / "o" / "n", WHOLE)
    _made(tmp_path / "my-set", here, settings)
    before = read_manifest(tmp_path / "my-set")
    silent = str(committed(tmp_path / "o" / "silent", REPOSITORIES["silent"]))

    def refreshed(earlier: str, wanted: SetRequest) -> SetRefresh:
        return asyncio.run(refresh_set(tmp_path / earlier, wanted, settings, lambda *_: None))

    same = refreshed("my-set", SetRequest([], tmp_path / "second", times=1))
    committed(here, {"README.md": "changed"})
    newer = refreshed("second", SetRequest([silent], tmp_path / "third", times=1))

    second, third = read_manifest(tmp_path / "second"), read_manifest(tmp_path / "third")
    assert [one.change for one in same.changes] == ["the same"]
    assert (second.name, second.version, second.follows) == ("my-set", "2", before.label)
    assert [one.files for one in second.tasks] == [one.files for one in before.tasks]
    assert second.canary != before.canary
    assert not list((tmp_path / "second" / "evidence").glob("*/oracle-*"))
    assert [(one.change, one.before != one.after) for one in newer.changes] == [("renewed", True)]
    assert (third.version, len(third.tasks)) == ("3", 1)


def test_versions_count_on() -> None:
    """The last number is counted; what has none is asked for."""
    assert [next_version(one) for one in ("1", "1.9", "2026.11", "3b")] == ["2", "1.10", "2026.12", "4b"]
    with pytest.raises(UsageError, match="--version"):
        next_version("final")


async def test_a_set_is_installed_for_its_suite_only(tmp_path: Path) -> None:
    """A name of one's own gets suite and version; the suite of another kind is refused."""
    await make_set(SetRequest([], tmp_path / "set", kind=KIND, version="1.2"), Settings(), lambda *_: None)
    named = [name_of_installed(name, tmp_path / "set") for name in ("x", "x@1.2", "dibench", "dibench@y")]
    assert named == ["dibench@x@1.2", "dibench@x@1.2", "dibench@set@1.2", "dibench@y"]
    for wrong in ("nl2repobench", "x@1.3"):
        with pytest.raises(UsageError):
            name_of_installed(wrong, tmp_path / "set")


def test_one_of_several_versions_is_named(tmp_path: Path) -> None:
    """A name with two versions means neither, and a suite's name means the suite."""
    settings = Settings(data_dir=tmp_path)
    for version in ("1", "2"):
        place = tmp_path / f"@x@{version}" / "dibench"
        place.mkdir(parents=True)
        (place / "origin.json").write_text("{}")
    assert named_suite("x@2", settings) == "dibench@x@2"
    assert named_suite("dibench", settings) == "dibench"
    assert named_suite("y", settings) == "y"
    with pytest.raises(UsageError, match="name one of them"):
        named_suite("x", settings)
