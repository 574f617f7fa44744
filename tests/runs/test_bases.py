"""Whose programs agents had stands in the run's lock, and decides whether a run can be resumed."""

from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.episodes.backends import backends
from groundup.runs import api
from groundup.runs.reporting import read_report
from groundup.settings import Settings
from groundup.store.folder import RunFolder
from groundup.store.records import Generated, RunConfiguration
from tests.runs.configurations import PROVIDER, QUICK, oracle
from tests.runs.toy_agent import AGENT

MADE = RunConfiguration(
    suite="tests.runs.toy:create_written", submissions=Generated(agent=AGENT), sandbox=PROVIDER
)


def test_the_lock_names_the_programs_of_agents(settings: Settings) -> None:
    """Once, however often it was resumed; and a report says it. Runs of other submissions have none."""
    folder = api.NewRun(MADE, QUICK, settings, run_id="made").work().folder
    api.Resumption(folder, QUICK, settings).work()
    lock = RunFolder(folder).lock()
    (found,) = lock.agents_had
    assert found.origin == "host"
    assert found.programs["sh"]
    assert [start.programs for start in lock.starts] == [found.digest] * 2
    (run,) = read_report([folder], settings).runs
    assert run.conditions
    assert run.conditions.programs == (found.words,)
    assert "agents' base" not in RunFolder(folder).config().pinned

    brought = api.NewRun(oracle(), QUICK, settings, run_id="brought").work().folder
    assert RunFolder(brought).lock().inventories == {}


def test_a_run_goes_on_with_the_base_that_it_began_with(settings: Settings) -> None:
    """An agent of another start would not have been like those of the first."""
    listed = settings.but(agent_base="listed")
    folder = api.NewRun(MADE, QUICK, listed, run_id="made").work().folder
    (found,) = RunFolder(folder).lock().agents_had
    assert found.origin == "listed"
    assert "git" not in found.programs
    with pytest.raises(UsageError, match="cannot be resumed, for its configuration changed: agents' base"):
        api.Resumption(folder, QUICK, settings).work()
    assert api.Resumption(folder, QUICK, listed).work().exit_code == 0


async def test_a_base_that_cannot_be_had_is_said_before_anything_runs(settings: Settings, tmp_path: Path) -> None:
    """A file that is not there, and a provider whose sandboxes have images of an engine."""
    absent = settings.but(agent_base=str(tmp_path / "absent.tar"))
    with pytest.raises(UsageError, match=r"absent\.tar is not there"):
        async with backends("bubblewrap", absent):
            pass
    with pytest.raises(UsageError, match=r"--agent-base .* has its --image's programs"):
        async with backends(PROVIDER, absent):
            pass
