"""Sets of services: a whole way from a folder to a verdict."""

import asyncio
import json
from pathlib import Path

import pytest

from groundup.api.data import pull
from groundup.api.runs import run
from groundup.curation.packing import pack_set
from groundup.curation.sets import SetRequest, make_set
from groundup.curation.yields import evidence_of, yield_of
from groundup.settings import load
from groundup.suites.sets import checked_set
from tests.curation.services.made import REPOSITORY
from tests.grading.library.laboratory import write_tree
from tests.needs import real_sandboxes


@pytest.fixture
def sandboxes(tmp_path: Path) -> None:
    """Skip where this machine can open no sandbox."""

    async def probe() -> None:
        async with real_sandboxes(load(), tmp_path / "probe"):
            pass

    asyncio.run(probe())


@pytest.mark.end_to_end
@pytest.mark.registry
@pytest.mark.needs("git")
@pytest.mark.usefixtures("sandboxes")
def test_a_folder_becomes_a_service_that_grades(tmp_path: Path) -> None:
    """Its original passes everything, nothing gets nothing, changes are noticed; packed it is the same."""
    write_tree(tmp_path / "notes", REPOSITORY)
    folder = tmp_path / "my-set"
    settings = load({"data_dir": str(tmp_path / "data"), "output": str(tmp_path / "runs")})
    wanted = SetRequest([str(tmp_path / "notes")], folder, kind="service", mutants=4)

    made = asyncio.run(make_set(wanted, settings, lambda *_: None))
    again = asyncio.run(make_set(wanted, settings, lambda *_: None))

    assert [(one.standing, one.why) for one in made.entries] == [("accepted", "")]
    assert (again.kept, again.label) == (1, made.label)
    (task,) = checked_set(folder, "service").tasks
    assert (task.licence, task.language, task.tests) == ("MIT", "python", made.entries[0].tests)
    assert yield_of(folder).rows[-1].survived["proven"] == 1
    (proof,) = (path for path in evidence_of(folder, "notes").files if path.endswith("proof.json"))
    counts = json.loads(Path(proof).read_text())
    assert counts["original"] == [task.tests] * 3
    assert (counts["nop"], counts["stubs"]) == (0, {"200": 0, "404": 0})
    assert [one["killed"] for one in counts["mutants"]].count(True) >= 2

    pack_set(folder, tmp_path / "notes.tar.gz")
    pull("notes", source=tmp_path / "notes.tar.gz", settings=settings)
    scores = []
    for subject in ("oracle", "nop"):
        (verdict,) = run("notes@1", subject, settings=settings).verdicts.values()
        assert verdict is not None
        assert verdict.score is not None
        scores.append(verdict.score.value)
    assert scores == [1.0, 0.0]
