"""What cannot be graded is not played: it is not offered, or its episode does not open."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from typing_extensions import override

from groundup.cli import serve as serving
from groundup.domain.errors import NetworkError, UsageError
from groundup.domain.tasks import Task
from groundup.environments.requests import GitSource
from groundup.grading.context import GradingContext
from groundup.serving.server import ServeJob
from groundup.settings import Settings
from groundup.suites.base import AtHand, Needs
from tests.runs.toy import ToyGrader, ToySuite
from tests.serving.house import Client, job_in, opened

SUITE = "tests.serving.test_preflight"


class UnreachableGrader(ToyGrader):
    """Its environment cannot be fetched as long as there is no file `reached` beside the journal."""

    @override
    async def layers(self, task: Task, context: GradingContext) -> Mapping[str, str]:
        """Fetch it."""
        assert self.journal is not None
        if task.id == "task-0001" and not (self.journal.parent / "reached").exists():
            raise NetworkError("the package index does not answer")
        return await super().layers(task, context)


class UnreachableSuite(ToySuite):
    """Graded by it."""

    @override
    def graders(self) -> Mapping[str, ToyGrader]:
        """Return it."""
        return {"strict": UnreachableGrader("strict", "1", self._graders["strict"].journal)}


def create_unreachable(settings: Settings) -> ToySuite:
    """Return two tasks, of which one cannot be graded for the moment."""
    return UnreachableSuite(2, journal=settings.cache_dir.parent / "gradings", written=True)


class GoneSuite(ToySuite, AtHand):
    """The original of the second of three tasks is in a repository that is gone."""

    @override
    def needs(self, task: Task) -> Needs:
        """Return it."""
        gone = GitSource(repository="/nonexistent/original", commit="0" * 40)
        return Needs(source=gone if task.id == "task-0001" else None)


def create_gone(settings: Settings) -> ToySuite:
    """Return three tasks."""
    return GoneSuite(3, written=True)


async def test_an_episode_that_cannot_be_graded_does_not_open(tmp_path: Path) -> None:
    """Its client hears why at once; the attempt is owed, no 0; it opens once the reason has gone."""
    async with opened(job_in(tmp_path, f"{SUITE}:create_unreachable")) as house:
        async with Client(house.address) as client:
            sid = await client.create(index=1)
            answer = await client.get("/prompt", sid)
            assert (answer.status_code, answer.json()["detail"]) == (500, "the package index does not answer")
            assert house.scores() == [None]
            (tmp_path / "reached").touch()
            sid = await client.create(index=1)
            assert (await client.get("/prompt", sid)).status_code == 200
            assert (await client.call(sid, "submit"))["output"]["reward"] == 0.0
        assert house.scores() == [None, 0.0]


def local(job: ServeJob) -> ServeJob:
    """Return *job* with the builder that fetches."""
    return replace(job, settings=job.settings.but(builder="local"))


@pytest.mark.needs("git")
def test_what_cannot_be_fetched_is_not_offered(tmp_path: Path) -> None:
    """The start says how many, which and why; the other tasks are offered."""
    job = serving.preflight(local(job_in(tmp_path, f"{SUITE}:create_gone")))
    assert job.offer().every == ("task-0000", "task-0002")
    said = " ".join(serving.notices(job))
    assert "1 task is not offered (task-0001), for this machine lacks" in said
    assert "GROUNDUP_GIT_MIRROR" in said


@pytest.mark.needs("git")
def test_a_dry_run_says_what_is_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the start of the server does, and how many tasks are left."""
    monkeypatch.setenv("GROUNDUP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    assert serving.serve(f"{SUITE}:create_gone", {}, dry_run=True) == 0
    *notices, last = capsys.readouterr().err.splitlines()
    left_out = "groundup: 1 task is not offered (task-0001), for this machine lacks"
    assert [line for line in notices if line.startswith(left_out)]
    assert last.startswith("groundup: 2 tasks as ")
    assert not (tmp_path / "runs").exists()


def test_a_named_task_that_cannot_be_fetched_is_refused(tmp_path: Path) -> None:
    """Before the server starts, with the way to mend it."""
    job = local(job_in(tmp_path, f"{SUITE}:create_gone", tasks=["task-0000", "task-0001"]))
    with pytest.raises(UsageError, match="task-0001 cannot be graded, for this machine lacks"):
        serving.preflight(job)
