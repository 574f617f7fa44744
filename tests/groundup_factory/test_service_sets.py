"""Sets of services: from a folder to a verdict, and on to servers, other harnesses and a next version."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from groundup.api.runs import run
from groundup.cli.data import pulled
from groundup.cli.serve import serve_job
from groundup.cli.view import write_pages
from groundup.settings import Settings, load
from groundup.suites.sets import checked_set
from groundup_factory.audit_runs import audit
from groundup_factory.packing import pack_set, refresh_set
from groundup_factory.sets import SetRequest, SetYield, make_set
from groundup_factory.yields import evidence_of, yield_of
from tests.grading.library.laboratory import write_tree
from tests.groundup_factory.services.made import REPOSITORY
from tests.needs import real_sandboxes
from tests.serving.house import Client, opened, until

pytestmark = [
    pytest.mark.end_to_end,
    pytest.mark.registry,
    pytest.mark.needs("git", "package index", "Python 3.10"),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a set made of a repository, once for all; skip where no sandbox can be opened."""
    folder = tmp_path_factory.mktemp("services")

    async def probe() -> None:
        async with real_sandboxes(load(), folder / "probe"):
            pass

    asyncio.run(probe())
    write_tree(folder / "notes", REPOSITORY)
    made = _made(folder)
    assert [(one.standing, one.why) for one in made.entries] == [("accepted", "")]
    return folder


def _made(place: Path) -> SetYield:
    wanted = SetRequest([str(place / "notes")], place / "my-set", kind="service", times=2, mutants=4)
    return asyncio.run(make_set(wanted, load(), lambda *_: None))


@pytest.fixture
def home(tmp_path: Path) -> Settings:
    """Return the settings of somebody else."""
    return load({"data_dir": str(tmp_path / "data"), "output": str(tmp_path / "runs")})


def test_a_folder_becomes_a_service_that_grades(place: Path) -> None:
    """Its original passes everything, nothing gets nothing, changes are noticed, and nothing is made twice."""
    folder = place / "my-set"
    again = _made(place)

    (task,) = checked_set(folder, "service").tasks
    assert (again.kept, again.entries[0].tests) == (1, task.tests)
    assert (task.licence, task.language) == ("MIT", "python")
    assert yield_of(folder).rows[-1].survived["proven"] == 1
    (proof,) = (path for path in evidence_of(folder, "notes").files if path.endswith("proof.json"))
    counts = json.loads(Path(proof).read_text())
    assert counts["original"] == [task.tests] * 2
    assert (counts["nop"], counts["stubs"]) == (0, {"200": 0, "404": 0})
    assert [one["killed"] for one in counts["mutants"]].count(True) >= 2
    assert all(one["asked"] <= task.tests for one in counts["mutants"])


def test_a_packed_set_is_run_audited_and_shown_elsewhere(place: Path, home: Settings, tmp_path: Path) -> None:
    """In another home its originals get everything and nothing gets nothing; the audit and the pages say so."""
    pack_set(place / "my-set", tmp_path / "notes.tar.gz")
    pulled("notes", source=tmp_path / "notes.tar.gz", settings=home)
    (task,) = checked_set(place / "my-set", "service").tasks

    found = audit("notes@1", runs=1, settings=home, output=tmp_path / "audit")
    scores = {}
    for subject in ("oracle", "nop"):
        made = run("notes@1", subject, settings=home)
        (verdict,) = made.verdicts.values()
        assert verdict is not None
        assert verdict.score is not None
        scores[subject] = verdict.score.value
    site = write_pages(site=tmp_path / "site", settings=home)

    assert scores == {"oracle": 1.0, "nop": 0.0}
    assert [(one.task, one.standing) for one in found.tasks] == [(task.id, "valid")]
    assert site.pages > 2
    assert any(task.id in path.read_text() for path in (tmp_path / "site").rglob("*.html"))


def test_a_set_is_served_exported_and_made_again(place: Path, home: Settings, tmp_path: Path) -> None:
    """An episode with the original gets everything, Harbor gets task and answer, the next version is the same."""
    (task,) = checked_set(place / "my-set", "service").tasks
    reference = place / "my-set" / "references" / task.id
    files = {name: (reference / name).read_text() for name in ("app.py", "start.sh", "requirements.txt")}

    async def played() -> Mapping[str, object]:
        async with (
            opened(serve_job(str(place / "my-set"), settings=home)) as house,
            Client(house.address) as client,
        ):
            sid = await client.create()

            async def is_open() -> bool:
                return (await client.get("/prompt", sid)).status_code == 200

            await until(is_open)
            for name, text in files.items():
                await client.bash(sid, f"cat > {name} <<'END OF {name}'\n{text}\nEND OF {name}\n")
            answer: Mapping[str, object] = (await client.call(sid, "submit"))["output"]
            return answer

    assert asyncio.run(played())["reward"] == 1.0
    bridges = pytest.importorskip("groundup_bridges.api")
    (exported,) = bridges.export_tasks(str(place / "my-set"), tmp_path / "harbor", settings=home)
    assert {"instruction.md", "solution", "task.toml", "tests"} <= {path.name for path in exported.iterdir()}
    request = SetRequest([], tmp_path / "second", mutants=4)
    renewed = asyncio.run(refresh_set(place / "my-set", request, home, lambda *_: None))
    assert [(one.change, one.after) for one in renewed.changes] == [("the same", task.id)]
    assert checked_set(tmp_path / "second", "service").version == "2"
