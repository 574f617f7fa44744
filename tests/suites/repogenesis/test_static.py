"""The static grader, and choosing tasks by group."""

from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.domain.verdicts import Reason, Stage, Status
from groundup.environments.local import create as create_builder
from groundup.grading.context import GradingContext
from groundup.runs.plan import make_plan
from groundup.sandbox.fake import create as create_sandbox
from groundup.settings import Settings
from groundup.store.records import References, RunConfiguration
from groundup.suites.pulling import take_folder
from groundup.suites.repogenesis.coverage import StaticGrader
from groundup.suites.repogenesis.suite import RepoGenesis, create
from groundup.suites.repogenesis.tasks import shipped_tasks
from tests.suites.repogenesis.folders import OWN_TASK, make_task


@pytest.fixture
def suite(tmp_path: Path) -> RepoGenesis:
    """The suite with two tasks of one's own at hand: a valid one and a spoilt one."""
    make_task(tmp_path / "mine")
    spoilt = OWN_TASK.replace("greeter", "spoilt")
    spoilt += '[[flags]]\nkind = "untouched"\ngraders = ["official", "strict"]\nreason = "nobody asks"\n'
    make_task(tmp_path / "mine", "spoilt", spoilt)
    settings = Settings(data_dir=tmp_path / "data")
    take_folder("repogenesis", tmp_path / "mine", settings, create(settings).data_source().check)
    return create(settings)


async def test_sources_are_compared_with_the_specification(suite: RepoGenesis, tmp_path: Path) -> None:
    """Declared endpoints count; the published figures stand beside them; the log leads to the declarations."""
    submission = tmp_path / "submission"
    submission.mkdir()
    (submission / "app.py").write_text(
        "from flask import Flask\napp = Flask(__name__)\n# /health .get(\n"
        "@app.route('/greetings/<name>')\ndef f(name): ...\n@app.get('/more')\ndef g(): ...\n"
    )
    settings = Settings(cache_dir=tmp_path / "cache")
    provider = create_sandbox(settings)
    context = GradingContext(provider, create_builder(settings, provider), tmp_path / "scratch")
    task = next(task for task in suite.tasks() if task.id == "greeter")
    graded = await suite.graders()["static"].grade(task, submission, context)
    score = graded.verdict.score
    assert score is not None
    assert (score.numerator, score.denominator) == (1, 2)
    assert graded.verdict.scores["official_api_coverage"].value == 1
    assert graded.verdict.scores["legacy_api_coverage"].value == 1
    assert "GET /health" in graded.verdict.reasons[0].message
    assert graded.logs["endpoints.txt"].decode().splitlines() == [
        "missing     GET /health",
        "declared    GET /greetings/{name}  app.py:4",
        "further     GET /more  app.py:6",
    ]


def test_what_could_not_be_taken_in_declares_nothing(suite: RepoGenesis) -> None:
    """A submission that is refused at intake has 0 of all endpoints."""
    task = next(task for task in suite.tasks() if task.id == "greeter")
    verdict = StaticGrader(suite.problems).zero(task, Reason(stage=Stage.INTAKE, message="no")).verdict
    assert verdict.status is Status.GRADED
    assert verdict.score is not None
    assert (verdict.score.numerator, verdict.score.denominator) == (0, 2)


def planned(tmp_path: Path, tasks: tuple[str, ...] | None, exclude: tuple[str, ...]) -> set[str]:
    """Return the tasks that a run would take."""
    configuration = RunConfiguration(
        suite="repogenesis", submissions=References(which="nop"), grader="static", tasks=tasks, exclude=exclude
    )
    return set(make_plan(configuration, Settings(data_dir=tmp_path / "data")).tasks)


def test_groups_choose_and_exclude_tasks(suite: RepoGenesis, tmp_path: Path) -> None:
    """`valid` and languages are groups; `!` means all outside one; without names, tasks at hand are taken."""
    java = {task.id for task in shipped_tasks().values() if task.language == "java"}
    assert planned(tmp_path, None, ()) == {"greeter", "spoilt"}
    assert planned(tmp_path, ("java",), ()) == java
    assert planned(tmp_path, None, ("!valid",)) == {"greeter"}
    assert planned(tmp_path, ("valid", "spoilt"), ("!java",)) == {"quarkus-blog-cms"}
    assert planned(tmp_path, ("java", "greeter"), ("java",)) == {"greeter"}


def test_unknown_groups_are_reported(suite: RepoGenesis, tmp_path: Path) -> None:
    """A misspelt group is answered with the nearest name."""
    with pytest.raises(UsageError, match="did you mean 'python'"):
        planned(tmp_path, ("pyton",), ())
    with pytest.raises(UsageError, match="did you mean 'valid'"):
        planned(tmp_path, None, ("!valit",))
