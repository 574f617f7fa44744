"""Sets of DI-Bench's kind: from a list of repositories to a suite, with a sentence for each that is none."""

import asyncio
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from groundup.api.runs import run
from groundup.domain.errors import TaskError, UsageError
from groundup.grading.ci.records import OriginalTests
from groundup.settings import Settings, load
from groundup.suites.base import Tables
from groundup.suites.dibench.dataset import read_dataset
from groundup.suites.dibench.execution_validity import valid_ids, validity_file
from groundup.suites.opening import open_suite
from groundup.suites.pulling import take_folder
from groundup.suites.sets import ENTRIES, SetKindName, checked_set, read_manifest
from groundup.trees.walking import remove_tree
from groundup_factory.filters import FilterRules
from groundup_factory.instance_sets import MAKING, InstanceSets
from groundup_factory.instances.making import InstanceRequest, add_instance
from groundup_factory.set_entries import SetEntry, parse_wish
from groundup_factory.sets import SetRequest, make_set
from groundup_factory.yields import evidence_of, yield_of
from tests.grading.library.laboratory import write_tree
from tests.needs import real_sandboxes
from tests.suites.dibench.executed import PYTHON

MIT = "Permission is hereby granted, free of charge, to any person obtaining a copy\nof this software"
FAILING = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(1, 2)\n"
WHOLE = {**PYTHON.files(), **PYTHON.original, "LICENSE": MIT}
REPOSITORIES: Mapping[str, Mapping[str, str]] = {
    "good": WHOLE,
    "failing": {**WHOLE, "tests/test_app.py": FAILING},
    "silent": {name: text for name, text in WHOLE.items() if not name.startswith(".github")},
    "nothing": {**WHOLE, **PYTHON.masked},
    "unlicensed": {name: text for name, text in WHOLE.items() if name != "LICENSE"},
}
KIND: SetKindName = "dibench"


def committed(folder: Path, files: Mapping[str, str]) -> Path:
    """Return a repository with *files*, committed on the second of January."""
    write_tree(folder, dict(files))
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    when = {"GIT_COMMITTER_DATE": "2026-01-02T00:00:00Z", "GIT_AUTHOR_DATE": "2026-01-02T00:00:00Z"}
    for arguments in (("init", "-q", "-b", "main"), ("add", "."), (*who, "commit", "-q", "-m", "all")):
        subprocess.run(
            ["git", *arguments],
            cwd=folder,
            check=True,
            capture_output=True,
            env={**when, "PATH": "/usr/bin:/bin:/usr/local/bin"},
        )
    return folder


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return settings with places of their own, or skip where this machine can open no sandbox."""

    async def probe() -> None:
        async with real_sandboxes(load(), tmp_path / "probe"):
            pass

    asyncio.run(probe())
    return load({"data_dir": str(tmp_path / "data"), "output": str(tmp_path / "runs")})


def _entries(tmp_path: Path, *names: str) -> list[str]:
    return [str(committed(tmp_path / "somebody" / name, REPOSITORIES[name])) for name in names]


@pytest.mark.end_to_end
@pytest.mark.needs("git")
def test_a_list_becomes_a_suite_and_a_yield(tmp_path: Path, settings: Settings) -> None:
    """The valid one is a task, each other one has its step, cause and sentence, and nothing is made twice."""
    folder = tmp_path / "my-set"
    wanted = SetRequest(
        _entries(tmp_path, *REPOSITORIES),
        folder,
        kind=KIND,
        times=1,
        jobs=2,
        filters=FilterRules(licences=("MIT",)),
    )
    told: list[str] = []

    made = asyncio.run(make_set(wanted, settings, lambda *_: None))
    again = asyncio.run(make_set(wanted, settings, lambda name, _: told.append(name)))

    assert [(one.standing, one.step, one.cause) for one in made.entries] == [
        ("accepted", "audited", ""),
        ("rejected", "validated", "original: failing tests"),
        ("rejected", "located", "no test job"),
        ("rejected", "masked", "no dependencies"),
        ("rejected", "filtered", "licence"),
    ]
    assert "its licence is unknown; --licence takes MIT" in made.entries[4].why
    assert (again.kept, told) == (5, [])
    assert not any((folder / MAKING).iterdir())
    _is_a_suite(folder, settings)
    found = yield_of(folder)
    (row,) = found.rows
    assert (row.asked, row.failed) == (5, 0)
    assert row.survived == {"fetched": 5, "filtered": 4, "located": 3, "masked": 2, "validated": 1, "audited": 1}
    evidence = evidence_of(folder, "failing")
    assert "step validated" in evidence.log
    logs = {Path(path).name: Path(path).read_text() for path in evidence.files}
    assert "1 != 2" in "".join(text for name, text in logs.items() if name.startswith("oracle-"))


def _is_a_suite(folder: Path, settings: Settings) -> None:
    """Assert that the set runs: its answer is right, nothing is wrong, both by text and by execution."""
    manifest = checked_set(folder, "dibench")
    (task,) = manifest.tasks
    assert task.id.startswith("good@")
    assert (task.licence, task.language, task.tests) == ("MIT", "python", 1)
    suite = open_suite(str(folder), settings)
    assert Tables.of(suite).groups()["valid"] == [task.id]
    assert manifest.canary in (suite.tasks()[0].instruction or "")
    for subject, grader, expected in (("oracle", "strict", 1), ("nop", "strict", 0), ("oracle", "execution", 1)):
        (verdict,) = run(str(folder), subject, grader=grader, settings=settings).verdicts.values()
        assert verdict is not None
        assert verdict.score is not None
        assert verdict.score.value == expected


@pytest.mark.end_to_end
@pytest.mark.needs("git")
@pytest.mark.parametrize("quick", ["python -m unittest discover -s tests", "python -m unittest discover -s none"])
def test_a_runner_up_is_executed_where_the_best_job_fails_here(
    tmp_path: Path, settings: Settings, quick: str
) -> None:
    """It wants a program that is not here: the other job decides; where that fails, the first reason stands."""
    entry = str(_two_jobs(tmp_path, quick))
    told: list[str] = []
    wanted = SetRequest([entry], tmp_path / "my-set", kind=KIND, times=1)
    (one,) = asyncio.run(make_set(wanted, settings, lambda _, line: told.append(line))).entries
    assert told[0] == ".github/workflows/ci.yml: test"
    assert "svn: command not found" in told[1]
    assert told[2] == ".github/workflows/ci.yml: quick"
    if quick.endswith("none"):
        assert (one.standing, one.cause) == ("rejected", "original: program that the machine has not")
        assert one.why.startswith("not executed: the original wants what this machine has not")
        assert "svn: command not found" in one.why
    else:
        assert (one.standing, one.step) == ("accepted", "audited")


def _two_jobs(tmp_path: Path, quick: str) -> Path:
    """Return a repository whose best job wants a program that is not here, and whose other one runs *quick*."""
    best = PYTHON.workflow.replace("run: python install.py", "run: svn --version && python install.py")
    other = PYTHON.workflow.partition("jobs:\n")[2].replace("  test:", "  quick:")
    other = other.replace("python -m unittest discover -s tests", quick)
    files = {**WHOLE, ".github/workflows/ci.yml": best + other}
    return committed(tmp_path / "somebody" / "two-jobs", files)


@pytest.mark.end_to_end
@pytest.mark.needs("git")
def test_one_instance_is_executed_by_the_same_rule(tmp_path: Path, settings: Settings) -> None:
    """Its runner-up decides, and it is known as valid afterwards; where none stands, nothing is added."""
    repository = _two_jobs(tmp_path, "python -m unittest discover -s tests")
    folder, told = tmp_path / "mine", list[str]()
    wanted = InstanceRequest(repository=str(repository), language="python", times=1)
    made = asyncio.run(add_instance(wanted, folder, settings, told.append))
    assert made.job.name == "quick"
    assert any("svn: command not found" in line for line in told)
    assert valid_ids(validity_file(settings), read_dataset(folder).problems) == {made.instance.instance_id}
    take_folder("dibench", folder, settings.but(data_dir=settings.data / "@mine"))
    suite = open_suite("dibench@mine", settings)
    assert Tables.of(suite).groups()["valid"] == [made.instance.instance_id]
    known = suite.graders()["execution"].identity(suite.tasks()[0])["original"]
    assert isinstance(known, OriginalTests)
    assert (known.passed, known.lines) == (1, {"3 unittest": (1,)})

    with pytest.raises(TaskError, match="svn: command not found"):
        asyncio.run(add_instance(wanted.but(job="test"), tmp_path / "none", settings))
    assert not (tmp_path / "none").exists()


class KilledBeforeItsEnd(InstanceSets):
    """Leaves what a kill leaves that comes once the files are in place."""

    def finished(self, one: SetEntry, folder: Path) -> None:
        """Do nothing."""


@pytest.mark.end_to_end
@pytest.mark.needs("git")
def test_an_interrupted_entry_goes_on_where_it_was(tmp_path: Path, settings: Settings) -> None:
    """What was made and validated is not made again when the end came before its line was written."""
    folder = tmp_path / "my-set"
    (entry,) = _entries(tmp_path, "good")
    wanted = SetRequest([entry], folder, kind=KIND, times=1)
    asyncio.run(make_set(wanted, settings, lambda *_: None, KilledBeforeItsEnd(1)))
    manifest = read_manifest(folder)
    (folder / ENTRIES).write_bytes(b'{"entry": "torn')  # killed as the line was written
    remove_tree(tmp_path / "somebody" / "good" / ".git")  # it cannot be fetched again

    asyncio.run(make_set(wanted, settings, lambda *_: None))

    assert read_manifest(folder).tasks == manifest.tasks
    assert len((folder / "regular.jsonl").read_text().splitlines()) == 1
    assert len((folder / "validity.jsonl").read_text().splitlines()) == 1


async def test_a_list_of_json_lines_names_repositories(tmp_path: Path) -> None:
    """What a forge's search returns is understood, and a package is no repository."""
    one = parse_wish('{"full_name": "o/n", "language": "C#", "stargazers_count": 7, "commit": "abc1234"}')
    assert (one.what, one.commit, one.language, one.stars) == ("github.com/o/n", "abc1234", "csharp", 7)
    for wrong in ('{"name": "x"}', '{"full_name": "o/n", "language": "Cobol"}', "{"):
        with pytest.raises(UsageError):
            parse_wish(wrong)
    with pytest.raises(UsageError, match="is no repository"):
        await make_set(SetRequest(["inflection"], tmp_path / "set", kind=KIND), load(), lambda *_: None)


async def test_a_set_has_one_kind(tmp_path: Path) -> None:
    """Tasks of two kinds are two sets."""
    await make_set(SetRequest([], tmp_path / "set"), load(), lambda *_: None)
    with pytest.raises(UsageError, match="is a set of the kind library"):
        await make_set(SetRequest([], tmp_path / "set", kind=KIND), load(), lambda *_: None)


async def test_evidence_is_found_by_any_name(tmp_path: Path) -> None:
    """An entry, a task's id, owner and name, or the bare name lead to it; what is not there is told."""
    await make_set(SetRequest([], tmp_path / "set", kind=KIND), load(), lambda *_: None)
    line = SetEntry(entry="github.com/o/n@abc", task="o__n@abc", standing="accepted", step="audited", seconds=1)
    (tmp_path / "set" / ENTRIES).write_text(line.model_dump_json() + "\n")
    for name in ("github.com/o/n@abc", "o__n@abc", "o__n", "o/n", "n"):
        assert evidence_of(tmp_path / "set", name).entry == line
    with pytest.raises(UsageError, match="unknown entry"):
        evidence_of(tmp_path / "set", "m")
    assert json.loads(yield_of(tmp_path / "set").model_dump_json())["rows"][0]["survived"]["audited"] == 1
