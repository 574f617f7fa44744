"""Parts of executing DI-Bench that need no sandbox: commands, build files, validity."""

import json
from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError, TaskError
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.sandbox.deadlines import note
from groundup.sandbox.stopwatch import Reading, Stopwatch
from groundup.suites.dibench.answers import Edited, original, submitted
from groundup.suites.dibench.dataset import InstanceProblem, InstanceSet, read_dataset
from groundup.suites.dibench.execution_files import executed_files, job_command
from groundup.suites.dibench.execution_validity import (
    Which,
    assess,
    keep_validity,
    known_validity,
    read_validity,
    valid_ids,
)
from groundup.suites.dibench.instances import Instance
from tests.suites.dibench.made import INSTANCES, instance, write_dataset, write_tree


def asked(command: str) -> Instance:
    """Return an instance with this command."""
    return Instance.model_validate(instance("one_alpha", act_command=command))


@pytest.mark.parametrize(
    ("command", "job", "workflow", "matrix"),
    [
        ("act -j test", "test", ".github/workflows/ci.yml", {}),
        ("act -W '.github/workflows/x.yml' -j 'all' --pull=false", "all", ".github/workflows/x.yml", {}),
        ("act -j t --matrix python-version:3.9 --matrix os:ubuntu-latest", "t", ".github/workflows/ci.yml",
         {"python-version": "3.9", "os": "ubuntu-latest"}),
        ("./bin/act push --job=b --workflows=./.github/workflows/y.yaml -P ubuntu-latest=x", "b",
         ".github/workflows/y.yaml", {}),
        ("act -j test -W .github/workflows/", "test", ".github/workflows/ci.yml", {}),
        ("act", None, ".github/workflows/ci.yml", {}),
    ],
)  # fmt: skip
def test_commands_are_read(command: str, job: str | None, workflow: str, matrix: dict[str, str]) -> None:
    """Job, workflow and values of the matrix are taken from the published command line, in all its spellings."""
    found = job_command(asked(command))
    assert (found.job, found.workflow, found.matrix) == (job, workflow, matrix)


@pytest.mark.parametrize("command", ["", "make test", "act -j 'open"])
def test_other_commands_are_the_task_s_fault(command: str) -> None:
    """What does not call act is reported."""
    with pytest.raises(TaskError, match="act_command"):
        job_command(asked(command))


def problem(dataset: InstanceSet, name: str) -> InstanceProblem:
    """Return a problem of the tiny dataset."""
    return next(one for one in dataset.problems if one.id == name)


@pytest.mark.parametrize("name", INSTANCES)
def test_originals_are_executed_as_they_are(dataset: InstanceSet, name: str) -> None:
    """The original's build files are executed byte for byte, and so are the masked ones."""
    one = problem(dataset, name)
    whole = original(one)
    files = executed_files(one, Edited(whole))
    assert files.contents == {path: whole(path) for path in one.instance.build_files}
    assert not files.taken_back
    assert not executed_files(one, Edited(one.read)).taken_back


def test_layout_is_free(dataset: InstanceSet, tmp_path: Path) -> None:
    """A file that declares other things in another layout is executed as it was handed in."""
    text = json.dumps({"devDependencies": {"jest": "^29.0.0"}, "name": "gamma", "dependencies": {"x": "1"}})
    write_tree(tmp_path / "s", {"package.json": text})
    one = problem(dataset, "three_gamma")
    files = executed_files(one, submitted(one, tmp_path / "s"))
    assert files.contents["package.json"] == text.encode()
    assert not files.taken_back


@pytest.mark.parametrize(
    ("name", "path", "before", "after"),
    [
        ("three_gamma", "package.json", '"name": "gamma"', '"name": "gamma", "scripts": {"test": "true"}'),
        ("one_alpha", "pyproject.toml", "[project]", '[tool.pytest.ini_options]\naddopts = "--co"\n\n[project]'),
        ("two_beta", "Cargo.toml", "[package]", "[lib]\ntest = false\n\n[package]"),
    ],
)
def test_only_declarations_are_taken(
    dataset: InstanceSet, tmp_path: Path, name: str, path: str, before: str, after: str
) -> None:
    """What a prediction changes besides declarations is taken back; what it declares stays."""
    one = problem(dataset, name)
    wanted = original(one)(path)
    assert wanted is not None
    write_tree(tmp_path / "s", {path: wanted.decode().replace(before, after, 1)})
    files = executed_files(one, submitted(one, tmp_path / "s"))
    assert files.taken_back == (path,)
    executed = (files.contents[path] or b"").decode()
    added = after.replace(before, "").strip().splitlines()[0].strip(", ")
    assert added not in executed
    assert {"one_alpha": "requests", "two_beta": "serde", "three_gamma": "left-pad"}[name] in executed


def graded(passed: bool | None) -> Verdict:
    """Return a verdict of an execution."""
    reasons = () if passed else (Reason(stage=Stage.INSTALL, message="why"),)
    return Verdict(
        status=Status.GRADED,
        score=Score(numerator=float(bool(passed)), denominator=float(passed is not None)),
        facts={} if passed else {"failure": "network"},
        reasons=reasons,
        grader=GraderIdentity(name="execution", version="1"),
    )


@pytest.mark.parametrize(
    ("oracle", "nop", "standing", "tries"),
    [
        ([True, True, True], [False, False, False], "valid", 6),
        ([False], [], "invalid", 1),
        ([True], [True], "invalid", 2),
        ([True, True, False], [False, False], "invalid", 5),
        ([None], [], "not executed", 1),
    ],
)
async def test_validity_is_three_times_each(
    dataset: InstanceSet, oracle: list[bool | None], nop: list[bool | None], standing: str, tries: int
) -> None:
    """One pass of the masked repository, or one failure of the original, disproves an instance and ends it."""
    answers = {"oracle": iter(oracle), "nop": iter(nop)}

    async def try_once(which: Which, number: int) -> Verdict:
        return graded(next(answers[which]))

    found = await assess(problem(dataset, "one_alpha"), 3, try_once)
    assert (found.standing, len(found.tries)) == (standing, tries)
    assert bool(found.why) is (standing != "valid")


async def test_machine_faults_say_nothing_of_a_task(dataset: InstanceSet, tmp_path: Path) -> None:
    """A failure of the machine or the network is kept apart, and looked at again the next time."""

    async def try_once(which: Which, number: int) -> Verdict:
        raise InfrastructureError("no network")

    one = problem(dataset, "one_alpha")
    found = await assess(one, 3, try_once)
    keep_validity(tmp_path / "v.jsonl", found)
    assert found.standing == "infrastructure"
    assert known_validity(tmp_path / "v.jsonl", one) is None


@pytest.mark.parametrize(
    ("subject", "kind", "idle_s", "standing"),
    [
        ("oracle", "timeout", 0.0, "infrastructure"),
        ("oracle", "failing tests", 0.0, "infrastructure"),
        ("nop", "timeout", 0.0, "infrastructure"),
        ("oracle", "timeout", 10.0, "not executed"),
        ("nop", "timeout", 10.0, "not executed"),
        ("oracle", "failing tests", 10.0, "invalid"),
        ("oracle", "missing dependency in test", 0.0, "invalid"),
    ],
)
async def test_a_busy_machine_disproves_nothing(
    dataset: InstanceSet, tmp_path: Path, subject: Which, kind: str, idle_s: float, standing: str
) -> None:
    """A job that others kept from the processors is owed again; one that is slow by itself is reported so."""

    async def try_once(which: Which, number: int) -> Verdict:
        if which != subject:
            return graded(which == "oracle")
        moments = iter([Reading(0.0, 0.0, 0.0), Reading(10.0, idle_s, 1.0)])
        note(Stopwatch(lambda: next(moments)))
        return graded(passed=False).model_copy(update={"facts": {"failure": kind}})

    one = problem(dataset, "one_alpha")
    found = await assess(one, 3, try_once)
    assert found.standing == standing
    keep_validity(tmp_path / "v.jsonl", found)
    assert (known_validity(tmp_path / "v.jsonl", one) is None) is (standing == "infrastructure")


async def test_results_hold_for_the_very_instance(dataset: InstanceSet, tmp_path: Path) -> None:
    """A changed repository is not valid because an earlier one was; torn and strange lines are passed over."""

    async def try_once(which: Which, number: int) -> Verdict:
        return graded(which == "oracle")

    one, path = problem(dataset, "one_alpha"), tmp_path / "v.jsonl"
    path.write_text('{"task": "other"}\n{"torn')
    keep_validity(path, await assess(one, 1, try_once))
    assert valid_ids(path, [one]) == {"one_alpha"}
    assert set(read_validity(path)) == {"one_alpha"}
    changed = read_dataset(write_dataset(tmp_path / "changed"))
    other = problem(changed, "one_alpha")
    (other.folder() / "pyproject.toml").write_text("[project]\n")
    assert not valid_ids(path, [other])
