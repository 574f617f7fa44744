"""The older scripts' numbers for the same services, in real sandboxes."""

import pytest

from groundup.domain.verdicts import Reason, Stage
from groundup.suites.base import Graded
from groundup.suites.repogenesis.legacy_grader import LegacyGrader
from tests.suites.repogenesis.trials import (
    DAEMON,
    HONEST,
    LIFECYCLE,
    NOT_FOUND,
    SLEEPER,
    TASK,
    Trial,
    passed,
    share,
)

START = {"start.sh": "exec python app.py\n", "requirements.txt": ""}
SHORT = LIFECYCLE.but(ready_s=3)


def ended(graded: Graded) -> object:
    """Return what is said of the deployment."""
    return graded.verdict.facts["dsr_message"]


@pytest.mark.end_to_end
async def test_an_honest_service_is_alive_tested_and_counted(trial: Trial) -> None:
    """Deployment, tests over those found by reading, test coverage, and sizes with the hidden tests in."""
    graded = await trial.legacy({"app.py": HONEST, **START, "tests/test_own.py": "def test_own(): pass\n"}, SHORT)
    facts = graded.verdict.facts
    assert ended(graded) == "Server started successfully"
    assert share(graded, "deployed") == 1
    assert (passed(graded), graded.verdict.score and graded.verdict.score.denominator) == (4, 4)
    assert (facts["parsed"], facts["reported"]) == (4, 4)
    assert facts["files"] == 3  # the service, and two hidden files where its own tests were
    assert graded.verdict.scores["test_coverage"].numerator > 0
    assert graded.verdict.scores["api_coverage"].denominator == 1  # all that the scripts see in the README


@pytest.mark.end_to_end
@pytest.mark.parametrize(
    ("files", "message", "points"),
    [
        ({"app.py": HONEST, "start.sh": START["start.sh"]}, "Unknown or missing build config", 4),
        ({"app.py": HONEST, "requirements.txt": ""}, "start.sh not found (recursive)", 0),
        ({**START, "requirements.txt": "no-such-package\n"}, "Pip install failed", 0),
        ({**START, "start.sh": "echo no disk; exit 3\n"}, "Server exited with code 3", 0),
        ({**DAEMON, "requirements.txt": ""}, "Server exited with code 0", 4),
    ],
)
async def test_each_way_not_to_be_deployed_is_reported(
    trial: Trial, files: dict[str, str], message: str, points: int
) -> None:
    """Without a declaration, a script or a living process nothing is deployed, nor a daemon; tests run."""
    graded = await trial.legacy(files, SHORT)
    assert ended(graded) == message
    assert ("last words: no disk" in graded.verdict.reasons[0].message) == ("no disk" in files.get("start.sh", ""))
    assert share(graded, "deployed") == 0
    assert graded.verdict.score is not None
    assert graded.verdict.score.denominator == 4
    assert passed(graded) == points


@pytest.mark.end_to_end
async def test_whatever_lives_is_deployed(trial: Trial) -> None:
    """`sleep 3600` is, a service that answers 404 is; neither passes a test."""
    for files in ({**SLEEPER, "requirements.txt": ""}, {"app.py": NOT_FOUND, **START}):
        graded = await trial.legacy(files, SHORT)
        assert share(graded, "deployed") == 1
        assert passed(graded) == 0
        assert graded.verdict.reasons[-1].message.startswith("0 of 4 tests passed")


@pytest.mark.end_to_end
async def test_hidden_tests_come_after_the_start(trial: Trial) -> None:
    """A start script that overwrites tests finds its own: the hidden ones are put there when it has started."""
    spoiling = "for f in tests/test_*.py; do echo 'def test_one(): pass' > $f; done\nexec python app.py\n"
    files = {"app.py": NOT_FOUND, "start.sh": spoiling, "requirements.txt": "", "tests/test_own.py": ""}
    assert passed(await trial.legacy(files, SHORT)) == 0


def test_what_could_not_be_taken_in_gets_nothing_of_all(trial: Trial) -> None:
    """0 over the tests found by reading, and no endpoint."""
    grader = LegacyGrader({"notes": trial.problem()}, LIFECYCLE)
    verdict = grader.zero(TASK, Reason(stage=Stage.INTAKE, message="too large")).verdict
    assert verdict.score is not None
    assert (verdict.score.numerator, verdict.score.denominator) == (0, 4)
    assert verdict.scores["api_coverage"].numerator == 0
    assert verdict.reasons[0].stage is Stage.INTAKE
