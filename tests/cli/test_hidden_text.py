"""Nothing of a hidden test's text is in what is made for others: pages, reports for people, bundles, exports."""

import tarfile
from pathlib import Path

import pytest

from groundup.domain.verdicts import PASSES_WITH, Reason, Stage, TestResult
from groundup.reports.causes import grouped
from groundup.reports.publishing import cause_for_others, reason_for_others
from groundup.store.folder import RunFolder, RunWriter
from tests.cli.conftest import Groundup
from tests.cli.test_why import WRITTEN
from tests.reports.made import run_of

SECRET = "SENTINEL"


def _lost(name: str, message: str) -> TestResult:
    """A lost test that holds the secret wherever the text of a test can be."""
    return TestResult(
        id=f"tests/test_a.py::{name}[{SECRET} parameter]",
        outcome="failed",
        expected=True,
        message=message,
        detail=f'tests/test_a.py:3: in {name}\n    assert shout("{SECRET}") == 1\nE   {message}',
        demand=f'> assert shout("{SECRET}") == 1\nleft  {SECRET}',
        lacks=(f"pkg.{SECRET}",),
        probably=f"/workspace/pkg/a.py:3: return 1{PASSES_WITH}return '{SECRET}'\npkg/b.py:4: pass",
    )


TESTS = (
    _lost("test_said", f"AssertionError: {SECRET} said"),
    _lost("test_raised", f"KeyError: '{SECRET}'"),
    _lost("test_service", f"assert 500 == '{SECRET}'").but(
        demand=f"last request: POST /{SECRET}\nthe service: ValueError: {SECRET}"
    ),
    _lost("test_custom", f"pkg.errors.WordError: {SECRET}"),
    _lost("test_plain", f"Failed: {SECRET}"),
)
REASON = Reason(stage=Stage.TEST, message=f"5 of 6 expected tests did not pass, first {TESTS[0].id}: {SECRET}")


def test_pages_and_bundles_hold_no_text_of_a_hidden_test(groundup: Groundup, tmp_path: Path) -> None:
    """The owner's `why` has it all; what is sent round has exceptions, kinds, names and lines."""
    pytest.importorskip("starlette")
    config, lines = run_of("r", {"task-0000": [(1, 6)]}, loaded=WRITTEN)
    with RunWriter.create(tmp_path / "runs" / "r", config) as writer:
        for line in lines.values():
            assert line.verdict is not None
            writer.record(line.but(verdict=line.verdict.but(reasons=(REASON,))), TESTS, {})
    for form in ("html", "latex"):
        assert groundup("report", "r", "--format", form, "--save", f"made/report.{form}").code == 0
    assert groundup("view", "r", "--bundle", "made/site").code == 0
    assert groundup("view", "r", "--bundle", "made/whole", "--trajectories").code == 0
    for form in ("tree", "atif", "messages"):
        groundup("export", "r", f"made/{form}", "--format", form)
    packed = groundup("leaderboard", "pack", "r", "--contamination", "none", "--to", "bundle.tar.gz")
    assert packed.code == 0, packed.err
    with tarfile.open(tmp_path / "bundle.tar.gz") as bundle:
        # Not `filter=`, which Debian 12's Python 3.11.2 has not yet.
        bundle.extraction_filter = staticmethod(lambda member, path: member)
        bundle.extractall(tmp_path / "made/bundle")
    faults = RunFolder(tmp_path / "made/bundle/run").records().faults
    assert [one for one in faults if not one.file.startswith("attempts/")] == []  # these lie apart in a bundle
    made = [path for path in (tmp_path / "made").rglob("*") if path.is_file()]
    assert len(made) > 12
    assert [path for path in made if SECRET.encode() in path.read_bytes()] == []
    site = "".join(path.read_text() for path in (tmp_path / "made/site").rglob("*.html"))
    assert "KeyError" in site
    assert "test_raised[...]" in site
    assert SECRET in groundup("why", "r").out


def test_a_cause_for_others_keeps_what_is_no_text_of_a_test() -> None:
    """The exception, the line of the submission, and names of the interface that are lacking."""
    said = {one.first.partition("::")[2]: one.said for one in (cause_for_others(g.cause) for g in grouped(TESTS))}
    assert said == {
        "test_said[...]": "AssertionError",
        "test_raised[...]": "KeyError",
        "test_service[...]": "ValueError",
        "test_custom[...]": "pkg.errors.WordError",
        "test_plain[...]": "wrong value",
    }
    assert {cause_for_others(g.cause).probably for g in grouped(TESTS)} == {
        "pkg/a.py:3: return 1\npkg/b.py:4: pass"
    }
    missing = _lost("test_name", "AttributeError: module 'pkg' has no attribute 'pick'")
    assert cause_for_others(grouped([missing])[0].cause).said == missing.message
    assert reason_for_others(REASON).message == "5 of 6 expected tests did not pass"
