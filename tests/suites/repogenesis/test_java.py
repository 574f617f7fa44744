"""Java tasks from end to end: Maven, service, hidden tests and cheats, in real sandboxes."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError, NetworkError
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Status
from groundup.environments.local import LocalBuilder
from groundup.environments.toolchains import find_jdk, find_maven
from groundup.grading.context import GradingContext
from groundup.grading.services.records import Lifecycle
from groundup.registries.cache import FetchCache
from groundup.registries.maven import MavenClient, maven_settings
from groundup.settings import Settings, environment
from groundup.suites.base import Graded
from groundup.suites.repogenesis.strict import RepoGenesisStrictGrader
from tests.grading.library.laboratory import write_tree
from tests.needs import lack, real_sandboxes
from tests.suites.repogenesis.java_trials import BROKEN, FORGER, FORGETFUL, SOLUTION, java_problem

pytestmark = [pytest.mark.end_to_end, pytest.mark.registry]

LIFECYCLE = Lifecycle(install_s=250, ready_s=60, late_s=1, tests_s=120, answer_s=5, probing_s=30)
TASK = Task(id="notes", suite="repogenesis", instruction=None, data_version="own")
LOST = "tests.NotesTest#keeps"
JUNIT = "org/junit/jupiter/junit-jupiter-api/5.10.1/junit-jupiter-api-5.10.1.jar"


@pytest.fixture
async def context(tmp_path: Path) -> AsyncIterator[GradingContext]:
    """A place to grade; skips where there is no JDK, no Maven, no repository or no sandbox."""
    variables = environment()
    try:
        find_jdk(17, variables)
        home = find_maven(variables).home
    except InfrastructureError as error:
        lack("JDK 17 and Maven", error)
    registry = MavenClient(maven_settings(variables, home), FetchCache(tmp_path / "cache/registry"))
    try:
        await registry.file(JUNIT)
    except NetworkError as error:
        lack("Maven repository", error)
    finally:
        await registry.close()
    settings = Settings(cache_dir=tmp_path / "cache")
    async with real_sandboxes(settings, tmp_path / "try") as provider:
        (tmp_path / "scratch").mkdir()
        yield GradingContext(
            provider=provider, builder=LocalBuilder(settings, provider), scratch=tmp_path / "scratch"
        )


async def graded(files: dict[str, str], context: GradingContext, tmp_path: Path) -> Graded:
    """Return what strict grading says of a submission of *files*."""
    number = len(list(context.scratch.iterdir()))
    scratch = context.scratch / str(number)
    scratch.mkdir()
    submission = write_tree(tmp_path / f"submission-{number}", files)
    grader = RepoGenesisStrictGrader({"notes": java_problem(tmp_path / "data")}, LIFECYCLE)
    own = GradingContext(provider=context.provider, builder=context.builder, scratch=scratch)
    return await grader.grade(TASK, submission, own)


def shares(result: Graded) -> dict[str, float | None]:
    """Return the verdict's scores as shares, the pass rate among them."""
    verdict = result.verdict
    assert verdict.score is not None
    return {"score": verdict.score.value, **{name: score.value for name, score in verdict.scores.items()}}


@pytest.mark.timeout(900)  # what Maven needs is fetched over the network, file by file
async def test_an_honest_service_gets_all_and_others_what_they_deserve(
    context: GradingContext, tmp_path: Path
) -> None:
    """The score is what passed; one that does not compile gets 0 with the reason, and who forges is tampered."""
    honest = await graded(SOLUTION, context, tmp_path)
    assert set(shares(honest).values()) == {1.0}, honest.verdict.reasons
    assert {test.outcome for test in honest.tests} == {"passed"}
    assert (honest.verdict.facts["integrity"], honest.verdict.facts["signs"]) == ("clean", "none")

    forgetful = await graded(FORGETFUL, context, tmp_path)
    assert shares(forgetful)["score"] == 0.5
    assert forgetful.verdict.facts["integrity"] == "clean"
    assert "expected: <hi> but was: <no such note>" in {test.id: test.message for test in forgetful.tests}[LOST]

    broken = await graded(BROKEN, context, tmp_path)
    assert (shares(broken)["score"], shares(broken)["installed"]) == (0.0, 0.0)
    assert "App.java" in broken.verdict.reasons[0].message
    assert "integrity" not in broken.verdict.facts

    hiding = {**FORGER, "src/main/java/tests/java.java": "package tests;\npublic class java { }\n"}
    for files in (FORGER, hiding):
        forged = await graded(files, context, tmp_path)
        assert (forged.verdict.status, forged.verdict.score) == (Status.TAMPERED, None)
        assert forged.verdict.facts["integrity"] == "tampered"
        assert "results are being forged" in str(forged.verdict.facts["integrity_why"])
        assert {test.outcome for test in forged.tests} == {"error"}

    empty = await graded({"README.md": "nothing"}, context, tmp_path)
    assert set(shares(empty).values()) == {0.0}
