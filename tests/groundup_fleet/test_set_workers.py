"""Sets made on fleets: nothing is lost with a node, and what nodes made is the set that one machine makes."""

import asyncio
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from groundup.api.runs import run
from groundup.domain.errors import UsageError
from groundup.settings import load
from groundup.suites.sets import checked_set
from groundup_fleet.clusters import read_address
from groundup_fleet.driver import DaskFleet, connected
from groundup_fleet.sets import make_set_on
from tests.groundup_fleet.fleets import fleet_of, worker_here
from tests.groundup_fleet.works import begun_twice, failing
from tests.needs import real_sandboxes
from tests.patience import patient


def test_work_of_a_killed_node_is_done_by_another_one(tmp_path: Path) -> None:
    """kill -9 of the process that has it costs the time only; what fails by itself is raised."""
    notes = tmp_path / "notes"

    async def driven(address: str) -> tuple[str, str]:
        async with connected(read_address(address), lambda _: None, DaskFleet) as fleet:
            asked = asyncio.create_task(fleet.carried(begun_twice, str(notes), 1))
            until = time.monotonic() + patient(60)
            while not notes.exists() or not notes.read_text():
                assert time.monotonic() < until, "it was not begun"
                await asyncio.sleep(0.05)
            first = notes.read_text()
            os.kill(int(first), signal.SIGKILL)
            second = await asked
            with pytest.raises(ValueError, match="so it is"):
                await fleet.carried(failing, "so it is", 1)
            return first, second

    with fleet_of("--local", "2", "--slots", "1", folder=tmp_path / "fleet", nodes=2) as fleet:
        first, second = asyncio.run(driven(str(fleet.file)))
    assert first != second


@pytest.mark.end_to_end
@pytest.mark.needs("git", "groundup_factory")
def test_nodes_make_the_set_that_one_machine_makes(tmp_path: Path) -> None:
    """Tasks, sentences and evidence are the same; what is settled is not made again."""
    from groundup_factory.sets import SetRequest, make_set
    from groundup_factory.yields import evidence_of
    from tests.groundup_factory.test_instance_sets import REPOSITORIES, committed

    probed = load()

    async def probe() -> None:
        async with real_sandboxes(probed, tmp_path / "probe"):
            pass

    asyncio.run(probe())
    settings = load({"data_dir": str(tmp_path / "data"), "output": str(tmp_path / "runs")})
    names = ("good", "silent")
    entries = [f"file://{committed(tmp_path / 'somebody' / name, REPOSITORIES[name])}" for name in names]
    wanted = SetRequest(entries, tmp_path / "there", kind="dibench", times=1)
    with worker_here() as cluster:
        there = asyncio.run(make_set_on(cluster.scheduler_address, wanted, settings, lambda *_: None))
        again = asyncio.run(make_set_on(cluster.scheduler_address, wanted, settings, lambda *_: None))

    assert [(one.standing, one.step, one.cause) for one in there.entries] == [
        ("accepted", "audited", ""),
        ("rejected", "located", "no test job"),
    ]
    assert again.kept == 2
    assert "step audited" in evidence_of(tmp_path / "there", "good").log
    (task,) = checked_set(tmp_path / "there", "dibench").tasks
    scores: Mapping[str, float] = {"oracle": 1.0, "nop": 0.0}
    for subject, score in scores.items():
        (verdict,) = run(str(tmp_path / "there"), subject, settings=settings).verdicts.values()
        assert verdict is not None
        assert verdict.score is not None
        assert verdict.score.value == score
    here = asyncio.run(make_set(SetRequest(entries, tmp_path / "here", kind="dibench", times=1), settings, print))
    assert [one.task for one in here.entries] == [one.task for one in there.entries]
    assert checked_set(tmp_path / "here", "dibench").tasks[0].files == task.files


@pytest.mark.needs("groundup_factory")
async def test_a_model_is_not_asked_from_nodes(tmp_path: Path) -> None:
    """Its key and its budget are this machine's."""
    from groundup_factory.sets import SetRequest
    from groundup_factory.spending import SetModel

    wanted = SetRequest(["inflection"], tmp_path / "set", model=SetModel("scripted/x.json"))
    with pytest.raises(UsageError, match="asked from one machine"):
        await make_set_on("tcp://127.0.0.1:1", wanted, load(), lambda *_: None)
