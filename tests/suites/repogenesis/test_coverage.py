"""API coverage of what a running service answered."""

from groundup.grading.services.probing import Presence, Probed, ProbedRoute
from groundup.suites.repogenesis.coverage import covered
from groundup.suites.repogenesis.tasks import ServiceProblem, parse_task
from tests.suites.repogenesis.trials import TASK_FILE


def test_only_what_answers_show_is_implemented() -> None:
    """An endpoint that is answered like unknown paths is unclear and counts nothing, whatever sources say."""
    problem = ServiceProblem(task=parse_task(TASK_FILE, "task.toml"))
    presences = (Presence.PRESENT, Presence.UNCLEAR, Presence.FAILING, Presence.MISSING)
    probed = [
        Probed(route=ProbedRoute(method=one.method, path=one.path), presence=presence)
        for one, presence in zip(problem.task.endpoints, presences, strict=True)
    ]
    coverage = covered(problem, probed)
    assert coverage.implemented == ("GET /health",)
    assert coverage.unclear == ("POST /notes",)
    assert coverage.failing == ("GET /notes/{id}",)
    assert coverage.shortfall() == (
        "endpoints: 1 missing, first DELETE /notes/{id}; 1 always failing, first GET /notes/{id}; "
        "1 unclear, first POST /notes (no answer differs from those of unknown paths); 1 of 4 count"
    )
    assert coverage.as_text().decode().splitlines() == [
        "implemented GET /health",
        "unclear     POST /notes",
        "failing     GET /notes/{id}",
        "missing     DELETE /notes/{id}",
    ]


def test_what_was_not_answered_is_told_as_that() -> None:
    """It is neither missing nor answered as unknown paths are."""
    problem = ServiceProblem(task=parse_task(TASK_FILE, "task.toml"))
    presences = (Presence.PRESENT, *[Presence.SILENT] * 3)
    probed = [
        Probed(route=ProbedRoute(method=one.method, path=one.path), presence=presence)
        for one, presence in zip(problem.task.endpoints, presences, strict=True)
    ]
    coverage = covered(problem, probed)

    assert coverage.shortfall() == "endpoints: 3 without an answer, first POST /notes; 1 of 4 count"
    assert coverage.as_text().decode().splitlines()[1] == "silent      POST /notes"
