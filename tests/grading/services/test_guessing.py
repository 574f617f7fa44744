"""Which tests run once more beside a service that is watched, and what becomes of where they were lost."""

from pathlib import Path

from groundup.domain.digests import digest_bytes
from groundup.environments.requests import Layer, PythonEnvironment
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import Result
from groundup.grading.services.guessing import by_sources, chosen_again, watched, with_places_of
from groundup.grading.services.testing import TestRun
from groundup.inside.origins import PASSES_WITH

LOST, GIVEN_UP, PASSED, SLOW = (NumberedTest(f"tests/test_a.py::test_{name}") for name in "abcd")


def _run(**results: Result) -> TestRun:
    tests = {"lost": LOST, "given_up": GIVEN_UP, "passed": PASSED, "slow": SLOW}
    return TestRun(results={tests[name]: one for name, one in results.items()})


def test_lost_tests_run_again_beside_passing_ones(tmp_path: Path) -> None:
    """One that gave up, too; not one that takes long, and none where nothing was lost."""
    lost = Result(outcome="failed", message="assert 1 == 2", duration_s=0.1)
    given_up = Result(outcome="skipped", message="Skipped: no room", duration_s=0.1)
    passed = Result(outcome="passed", duration_s=0.1)
    slow = Result(outcome="passed", duration_s=9.0)
    assert chosen_again(_run(passed=passed, slow=slow, given_up=given_up, lost=lost)) == [PASSED, GIVEN_UP, LOST]
    assert chosen_again(_run(passed=passed, slow=slow)) == []


def test_a_line_that_was_tried_stays_what_the_sources_say(tmp_path: Path) -> None:
    """The sources alone would name the only line that gives the status."""
    (tmp_path / "app.py").write_text('@app.get("/a")\ndef a():\n    return {}, 201\n')
    lost = Result(
        outcome="failed", message="assert 201 == 200", demand="last exchange: GET /a -> 201 {}\nassert 201 == 200"
    )
    place = f"app.py:2: def a():{PASSES_WITH}x"
    told = by_sources(with_places_of(_run(lost=lost), {LOST: place}), tmp_path, b"")
    alone = by_sources(_run(lost=lost), tmp_path, b"")
    assert told is not None
    assert told.results[LOST].probably == place
    assert alone is not None
    assert alone.results[LOST].probably == "app.py:3: return {}, 201"


def test_a_service_carries_what_watches_it_first_on_its_path(tmp_path: Path) -> None:
    """Its own path stays behind that."""
    own = PythonEnvironment(
        layer=Layer(kind="python", digest=digest_bytes(b""), path=tmp_path),
        mounts=(),
        path=(),
        python_version="3.10.1",
        environment={"PYTHONPATH": "/else"},
    )
    carrying = watched(own, tmp_path / "carried")
    assert carrying.environment["PYTHONPATH"] == "/opt/groundup-watched:/else"
    assert {one.name for one in (tmp_path / "carried").iterdir()} == {"sitecustomize.py", "spectrum.py", "live.py"}
