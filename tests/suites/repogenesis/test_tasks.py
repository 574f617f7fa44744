"""Task records: the shipped ones, and what is refused."""

import pytest

from groundup.domain.errors import TaskError
from groundup.suites.repogenesis.tasks import is_valid, parse_task, shipped_tasks
from tests.suites.repogenesis.folders import OWN_TASK


def test_the_thirty_published_tasks_are_shipped() -> None:
    """22 tasks in Python with 610 tests and 8 in Java with 169 are known without any data."""
    tasks = shipped_tasks().values()
    counts = {
        language: (
            sum(task.language == language for task in tasks),
            sum(task.tests.count for task in tasks if task.language == language),
        )
        for language in ("python", "java")
    }
    assert counts == {"python": (22, 610), "java": (8, 169)}


def test_every_task_names_endpoints_once() -> None:
    """Each table of endpoints is complete enough to be a denominator: never empty, nothing twice."""
    for task in shipped_tasks().values():
        shapes = [endpoint.shape for endpoint in task.endpoints]
        assert shapes
        assert len(shapes) == len(set(shapes))


def test_health_paths_are_specified_or_distinguished() -> None:
    """A health path is one of the endpoints, except where a README only mentions it in passing."""
    for task in shipped_tasks().values():
        specified = task.health is None or f"GET {task.health}" in map(str, task.endpoints)
        assert specified or task.id == "Customization"


def test_official_faults_do_not_make_a_task_invalid() -> None:
    """What only the published harness does wrong spoils its verdicts, not those of strict."""
    tasks = shipped_tasks()
    assert is_valid(tasks["GameBackend"].flags)
    assert not is_valid(tasks["GameBackend"].flags, "official")
    assert not is_valid(tasks["flask"].flags)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('kind = "http"', 'kind = "java"', "kind is 'java' exactly for tasks in Java"),
        ('"GET /health"', '"FETCH /health"', "is no endpoint"),
        ('"GET /health"', '"GET /greetings/{other}"', "specified twice"),
        ("port = 8090", "port = 0", "port"),
        ("port = 8090", "port = true", "whole number"),
        ("format = 1", "format = ", "not valid TOML"),
        ('health = "/health"', 'healthy = "/health"', "healthy"),
    ],
)
def test_what_is_wrong_with_a_record_is_reported(old: str, new: str, expected: str) -> None:
    """A broken task file is refused with its name and the field."""
    with pytest.raises(TaskError, match=expected) as caught:
        parse_task(OWN_TASK.replace(old, new), "task.toml")
    assert "task.toml" in str(caught.value)


def test_base_urls_are_reported_with_their_suffix() -> None:
    """A variable for the tests holds host, port and the prefix that they expect."""
    base_url = shipped_tasks()["Chatroom"].base_url
    assert base_url is not None
    assert base_url.value(8083) == "http://localhost:8083/api/v1"
