"""The static grader, and choosing tasks by group."""

from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.domain.verdicts import Reason, Score, Stage, Status
from groundup.environments.local import create as create_builder
from groundup.grading.context import GradingContext
from groundup.runs.plan import make_plan
from groundup.settings import Settings
from groundup.store.records import References, RunConfiguration
from groundup.suites.pulling import take_folder
from groundup.suites.repogenesis.coverage import StaticGrader
from groundup.suites.repogenesis.suite import RepoGenesis, create
from groundup.suites.repogenesis.tasks import LANGUAGES, shipped_tasks
from tests.sandbox.fake import create as create_sandbox
from tests.suites.repogenesis.folders import OWN_TASK, make_task

JAVA = {task.id for task in shipped_tasks().values() if task.language == "java"}


@pytest.fixture
def suite(tmp_path: Path) -> RepoGenesis:
    """The suite with the tasks in Java and two of one's own at hand: a valid one and a spoilt one."""
    make_task(tmp_path / "mine")
    spoilt = OWN_TASK.replace("greeter", "spoilt")
    spoilt += '[[flags]]\nkind = "untouched"\ngraders = ["official", "strict"]\nreason = "nobody asks"\n'
    make_task(tmp_path / "mine", "spoilt", spoilt)
    for name in JAVA:
        folder = make_task(tmp_path / "mine", name, None)
        (folder / "pom.xml").write_text("<project/>")
        (folder / LANGUAGES["java"].tests).mkdir(parents=True)
    settings = Settings(data_dir=tmp_path / "data")
    take_folder("repogenesis", tmp_path / "mine", settings, create(settings).data_source().check)
    return create(settings)


async def test_the_published_reading_decides_without_running_anything(suite: RepoGenesis, tmp_path: Path) -> None:
    """The score is the published share of the README's endpoints; the older scripts' figure stands beside it."""
    submission = tmp_path / "submission"
    submission.mkdir()
    (submission / "said.py").write_text("# greetings\n")
    settings = Settings(cache_dir=tmp_path / "cache")
    provider = create_sandbox(settings)
    context = GradingContext(provider, create_builder(settings, provider), tmp_path / "scratch")
    task = next(task for task in suite.tasks() if task.id == "greeter")
    graded = await suite.graders()["static"].grade(task, submission, context)
    assert graded.verdict.score == Score(numerator=0, denominator=1)  # no sign of the method
    assert graded.verdict.scores["api_coverage"] == graded.verdict.score
    assert graded.verdict.scores["legacy_api_coverage"] == Score(numerator=1, denominator=1)
    assert graded.verdict.reasons[0].message == (
        "1 of 1 endpoints are not found in the sources, first GET /greetings/{name}"
    )
    assert graded.logs["endpoints.txt"] == b"missing GET /greetings/{name}\n"
    (submission / "said.py").write_text("# greetings .get(\n")
    graded = await suite.graders()["static"].grade(task, submission, context)
    assert graded.verdict.score == Score(numerator=1, denominator=1)
    assert graded.verdict.reasons == ()


def test_what_could_not_be_taken_in_declares_nothing(suite: RepoGenesis) -> None:
    """A submission that is refused at intake has 0 of all endpoints."""
    task = next(task for task in suite.tasks() if task.id == "greeter")
    verdict = StaticGrader(suite.problems).zero(task, Reason(stage=Stage.INTAKE, message="no")).verdict
    assert verdict.status is Status.GRADED
    assert verdict.score == Score(numerator=0, denominator=1)


def planned(tmp_path: Path, tasks: tuple[str, ...] | None, exclude: tuple[str, ...]) -> set[str]:
    """Return the tasks that a run would take."""
    configuration = RunConfiguration(
        suite="repogenesis", submissions=References(which="nop"), grader="static", tasks=tasks, exclude=exclude
    )
    return set(make_plan(configuration, Settings(data_dir=tmp_path / "data")).tasks)


def test_groups_choose_and_exclude_tasks(suite: RepoGenesis, tmp_path: Path) -> None:
    """`valid` and languages are groups; `!` means all outside one; without names, tasks at hand are taken."""
    assert planned(tmp_path, None, ()) == {"greeter", "spoilt", *JAVA}
    assert planned(tmp_path, ("java",), ()) == JAVA
    assert planned(tmp_path, None, ("!valid",)) == {"greeter", "quarkus-blog-cms"}
    assert planned(tmp_path, ("valid", "spoilt"), ("!java",)) == {"quarkus-blog-cms"}
    assert planned(tmp_path, ("java", "greeter"), ("java",)) == {"greeter"}


def test_unknown_groups_are_reported(suite: RepoGenesis, tmp_path: Path) -> None:
    """A misspelt group is answered with the nearest name."""
    with pytest.raises(UsageError, match="did you mean 'python'"):
        planned(tmp_path, ("pyton",), ())
    with pytest.raises(UsageError, match="did you mean 'valid'"):
        planned(tmp_path, None, ("!valit",))
