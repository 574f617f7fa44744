"""Which tests run once more beside a service that is watched, and what becomes of where they were lost."""

from pathlib import Path

from groundup.domain.digests import digest_bytes
from groundup.domain.verdicts import PASSES_WITH
from groundup.environments.requests import Layer, PythonEnvironment
from groundup.grading.guesses import guesser
from groundup.grading.library.hidden import NumberedTest
from groundup.grading.library.report import Result
from groundup.grading.places import followed
from groundup.grading.submitted_sources import Sources
from groundup_origins.services import chosen_again, watched

LOST, GIVEN_UP, PASSED, SLOW = (NumberedTest(f"tests/test_a.py::test_{name}") for name in "abcd")


def test_lost_tests_run_again_beside_passing_ones() -> None:
    """One that gave up, too; not one that takes long, and none where nothing was lost."""
    lost = Result(outcome="failed", message="assert 1 == 2", duration_s=0.1)
    given_up = Result(outcome="skipped", message="Skipped: no room", duration_s=0.1)
    passed = Result(outcome="passed", duration_s=0.1)
    slow = Result(outcome="passed", duration_s=9.0)
    ran = {PASSED: passed, SLOW: slow, GIVEN_UP: given_up, LOST: lost}
    assert chosen_again(ran) == [PASSED, GIVEN_UP, LOST]
    assert chosen_again({PASSED: passed, SLOW: slow}) == []


def test_passing_tests_near_a_lost_one_run_again_first() -> None:
    """Those of its class, then those of its file, as many as take no longer than a few seconds together."""
    half = Result(outcome="passed", duration_s=0.5)
    far, file, own = ([NumberedTest(f"{place}{number}") for number in range(6)] for place in (
        "tests/test_b.py::test_", "tests/test_a.py::TestOther::test_", "tests/test_a.py::TestOwn::test_",
    ))  # fmt: skip
    lost = NumberedTest("tests/test_a.py::TestOwn::test_lost")
    ran = {**dict.fromkeys([*far, *file[:3], *own[:3]], half), lost: Result(outcome="failed", duration_s=0.5)}
    assert chosen_again(ran) == [*file[:2], *own[:3], lost]
    assert chosen_again({**dict.fromkeys(own, half), **ran}) == [*own[:5], lost]


def test_a_line_that_was_tried_stays_what_the_sources_say() -> None:
    """The sources alone would name the only line that gives the status."""
    sources = Sources({"app.py": '@app.get("/a")\ndef a():\n    return {}, 201\n'})
    lost = Result(
        outcome="failed", message="assert 201 == 200", demand="last exchange: GET /a -> 201 {}\nassert 201 == 200"
    )
    place = f"app.py:2: def a():{PASSES_WITH}x"
    assert followed({LOST: lost.but(probably=place)}, b"", sources)[LOST].probably == place
    assert followed({LOST: lost}, b"", sources)[LOST].probably == "app.py:3: return {}, 201"


def _environment(tmp_path: Path) -> PythonEnvironment:
    return PythonEnvironment(
        layer=Layer(kind="python", digest=digest_bytes(b""), path=tmp_path),
        mounts=(),
        path=(),
        python_version="3.10.1",
        environment={"PYTHONPATH": "/else"},
    )


def test_a_service_carries_what_watches_it_first_on_its_path(tmp_path: Path) -> None:
    """Its own path stays behind that."""
    carrying = watched(_environment(tmp_path), tmp_path / "carried")
    assert carrying.environment["PYTHONPATH"] == "/opt/groundup-watched:/else"
    assert {one.name for one in (tmp_path / "carried").iterdir()} == {"sitecustomize.py", "spectrum.py", "live.py"}


def test_a_service_that_starts_slowly_is_not_started_again(tmp_path: Path) -> None:
    """Another one is, and what hears its tests has the program that asks it."""
    results = {LOST: Result(outcome="failed", message="assert 1 == 2", duration_s=0.1)}
    asked = results, _environment(tmp_path), tmp_path
    assert guesser().second_tests(*asked, 9.0, tmp_path / "slow") is None
    again = guesser().second_tests(*asked, 1.0, tmp_path / "quick")
    assert again is not None
    told = again.listener.asked("/opt/groundup", again.limit_s)["listener"]
    assert isinstance(told, dict)
    own = {"listener.py", "values.py", "origins.py", "afar.py", "blame.py", "statements.py"}
    assert {*own, *told["helpers"]} == again.listener.files.keys()
    assert [one.source for one in again.mounts] == [tmp_path]
