"""Which line of a service lost a test, by a second run, its log and its sources: guesses that decide nothing.

In the second run, when the one that counts is over, the service carries `inside.watched`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from groundup.environments.requests import PythonEnvironment
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.places import of_service
from groundup.grading.probable import guessed
from groundup.grading.services.testing import WATCHED, TestRun
from groundup.grading.submitted_sources import Sources
from groundup.inside import source_of
from groundup.sandbox.protocol import Mount

_LOST_BY = ("failed", "error", "skipped")
_LOST = 8
_PASSED = 12
_SHORT_S = 0.5
"""A test that takes longer is not run again."""


def chosen_again(tests: TestRun) -> Sequence[NumberedTest]:
    """Return lost tests that are run again, and passing ones beside them, in the order in which they ran."""
    short = {test: one for test, one in tests.results.items() if one.duration_s <= _SHORT_S}
    lost = _some([test for test, one in short.items() if one.outcome in _LOST_BY], _LOST)
    passed = _some([test for test, one in short.items() if one.outcome == "passed"], _PASSED) if lost else []
    wanted = {*lost, *passed}
    return [test for test in tests.results if test in wanted]


def _some(every: Sequence[NumberedTest], most: int) -> Sequence[NumberedTest]:
    return every[:: max(1, -(-len(every) // most))]


def watched(environment: PythonEnvironment, folder: Path) -> PythonEnvironment:
    """Return *environment* with what each Python that starts in it carries along; *folder* is filled."""
    folder.mkdir()
    for name, program in (("sitecustomize.py", "watched.py"), ("spectrum.py", ""), ("live.py", "")):
        (folder / name).write_bytes(source_of(program or name))
    path = ":".join(filter(None, [WATCHED, environment.environment.get("PYTHONPATH")]))
    return environment.but(
        mounts=(*environment.mounts, Mount(source=folder, target=WATCHED)),
        environment={**environment.environment, "PYTHONPATH": path},
    )


def with_places_of(tests: TestRun, places: Mapping[NumberedTest, str]) -> TestRun:
    """Return *tests* with where the lost ones were probably lost."""
    results = {
        test: one.but(probably=places[test]) if test in places and one.outcome in _LOST_BY else one
        for test, one in tests.results.items()
    }
    return tests.but(results=results)


def by_sources(tests: TestRun | None, submission: Path, log: bytes) -> TestRun | None:
    """Return lost *tests* with the line of the service that they lead to, by what they and its *log* say."""
    if tests is None or tests.count(*_LOST_BY) == 0:
        return tests
    sources = Sources.of(submission)
    return tests.but(results=guessed({**tests.results, **of_service(tests.results, log, sources)}, sources))
