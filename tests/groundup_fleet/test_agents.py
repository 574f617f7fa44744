"""Agents on a fleet's nodes: what they leave is what they leave here, and the driver keeps model and record."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import JsonValue

from groundup.domain.conversations import ChatReply, ChatRequest, Message
from groundup.domain.errors import InfrastructureError
from groundup.models.protocol import BudgetSpentError, CallWatch
from groundup.runs import api
from groundup.runs.plan import RunOptions
from groundup.settings import Settings
from groundup.store.attempts import read_trajectory
from groundup.store.folder import RunFolder
from groundup.store.records import Generated, RunConfiguration
from groundup_fleet.agents import ModelRelay
from tests.groundup_fleet.fleets import RunningFleet, fleet_of
from tests.groundup_fleet.test_fleet import files, untimed
from tests.runs.configurations import PROVIDER
from tests.runs.conftest import settings
from tests.runs.toy import BEHAVIOUR
from tests.runs.toy_agent import AGENT

__all__ = ["settings"]
WRITTEN = "tests.runs.toy:create_written"
REQUEST = ChatRequest(messages=(Message(role="user", content="hello"),))


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningFleet]:
    """Two nodes, with keys."""
    with fleet_of("--local", "2", "--slots", "2", folder=tmp_path_factory.mktemp("fleet"), nodes=2) as made:
        yield made


@pytest.fixture
def script(tmp_path: Path) -> str:
    """A model that hands in a submission which passes half."""
    path = tmp_path / "script.json"
    turn = {"content": f"```path={BEHAVIOUR}\nhalf\n```\n", "output_tokens": 1000}
    path.write_text(json.dumps({"turn": [turn], "then": "repeat"}))
    return f"scripted/{path}"


def made_by(agent: str, **fields: object) -> RunConfiguration:
    """Return a configuration whose submissions *agent* makes."""
    submissions = Generated.model_validate({"agent": agent, **fields})
    return RunConfiguration(suite=WRITTEN, submissions=submissions, sandbox=PROVIDER)


def both(
    fleet: RunningFleet, settings: Settings, configuration: RunConfiguration, **options: Any
) -> tuple[api.Run, api.Run]:
    """Run here, then with agents on the fleet."""
    usual = {"jobs": 2, "retry_delay_s": 0, "use_cache": False, **options}
    here = api.NewRun(configuration, RunOptions.model_validate(usual), settings, run_id="here").work()
    there = {**usual, "workers": str(fleet.file), "agents_on_nodes": True}
    return here, api.NewRun(configuration, RunOptions.model_validate(there), settings, run_id="there").work()


def steps(result: api.Run) -> list[list[object]]:
    """Return what the trajectories of a run say but for times."""
    folder = RunFolder(result.folder)
    timeless = ("at", "latency_s", "spent_s", "seconds")

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without(one) for key, one in value.items() if key not in timeless}
        return [without(one) for one in value] if isinstance(value, list) else value

    keys = folder.config().planned.keys
    return [[without(dict(step)) for step in read_trajectory(folder.attempt(key).trajectory_file)] for key in keys]


def effortless(lines: list[object]) -> list[object]:
    """Return verdict lines without the seconds that making took."""
    for line in lines:
        assert isinstance(line, dict)
        (line["effort"] or {}).pop("seconds", None)
    return lines


def test_what_agents_on_nodes_leave_is_what_they_leave_here(
    fleet: RunningFleet, settings: Settings, script: str
) -> None:
    """Verdicts, files and trajectories; the model is asked by the driver."""
    here, there = both(fleet, settings, made_by("oneshot", model=script))
    assert (here.exit_code, there.exit_code) == (0, 0)
    assert effortless(untimed(here.folder)) == effortless(untimed(there.folder))
    assert files(here.folder) == files(there.folder)
    assert steps(here) == steps(there)
    assert [step["kind"] for step in steps(there)[0]][:2] == ["began", "message"]  # type: ignore[index]


def test_an_agent_goes_on_on_another_node_with_what_it_recorded(fleet: RunningFleet, settings: Settings) -> None:
    """Its first try ends by the infrastructure's fault; logs and what `submit` said are the driver's."""
    configuration = made_by(AGENT, options={"fault": "infrastructure", "first": "half"})
    here, there = both(fleet, settings, configuration, retries=1)
    assert there.exit_code == 0
    assert steps(here) == steps(there)
    assert files(here.folder) == files(there.folder)


def test_an_agent_whose_node_is_killed_goes_on_on_another(fleet: RunningFleet, settings: Settings) -> None:
    """What it recorded there is known here; it begins a second time, and the run owes nothing."""
    configuration = made_by(AGENT, options={"fault": "killed", "first": "half"})
    configuration = configuration.but(tasks=("task-0000",))
    options = RunOptions(workers=str(fleet.file), agents_on_nodes=True, use_cache=False, retry_delay_s=0)
    result = api.NewRun(configuration, options, settings, run_id="killed").work()
    assert (result.exit_code, result.pending) == (0, 0)
    (told,) = steps(result)
    assert [step["kind"] for step in told].count("began") == 2  # type: ignore[index]
    assert [step["tries"] for step in told if step["kind"] == "note"] == [0, 1]  # type: ignore[index]


def test_spent_money_stops_a_run_whose_agents_are_on_nodes(
    fleet: RunningFleet, settings: Settings, script: str
) -> None:
    """The ledger is the driver's, whatever nodes do."""
    options = {"max_cost_usd": 0.05, "price": "1:100"}
    here, there = both(fleet, settings, made_by("oneshot", model=script), **options)
    assert (here.exit_code, there.exit_code) == (3, 3)


class Model:
    """Counts what it is asked."""

    name, context_tokens = "a/b", None

    def __init__(self) -> None:
        self.asked = 0

    async def complete(self, request: ChatRequest, watch: CallWatch | None = None) -> ChatReply:
        """Answer once."""
        self.asked += 1
        if self.asked > 1:
            raise BudgetSpentError("all is spent")
        return ChatReply(message=Message(role="assistant", content="hi"), finish="stop")


async def test_a_token_opens_the_relay_for_one_attempt_while_it_goes_on() -> None:
    """Others, later ones and questions of another kind get an error, and the model is not asked."""
    relay, model, said = ModelRelay(""), Model(), list[JsonValue]()
    recorded: Any = SimpleNamespace(
        recorded=lambda: ({"kind": "began"},), append=lambda kind, **fields: said.append({"kind": kind, **fields})
    )
    asked = REQUEST.model_dump_json()
    with relay.serving(model, recorded, lambda name, data: said.append(name)) as token:  # type: ignore[arg-type]
        assert await relay.answer(token, 0, "begin", "", b"") == '[1, [{"kind": "began"}]]'
        assert "hi" in await relay.answer(token, 1, "reply", asked, b"")
        with pytest.raises(BudgetSpentError):
            await relay.answer(token, 1, "reply", asked, b"")
        for opening, what, text in (
            ("guessed", "reply", asked),
            (token, "key", ""),
            (token, "reply", "{"),
            (token, "step", "[1]"),
        ):
            with pytest.raises((InfrastructureError, TypeError, ValueError)):
                await relay.answer(opening, 1, what, text, b"")
        assert not await relay.answer(token, 1, "step", '{"kind": "note", "n": 1}', b"")
        await relay.answer(token, 1, "log", "agent.log", b"words")
        taken_over = await relay.answer(token, 0, "begin", "", b"")  # by another node, after the first one died
        assert taken_over == '[2, [{"kind": "began"}, {"kind": "note", "n": 1}]]'
        with pytest.raises(InfrastructureError, match="elsewhere"):
            await relay.answer(token, 1, "reply", asked, b"")
    with pytest.raises(InfrastructureError, match="the attempt is over"):
        await relay.answer(token, 2, "reply", asked, b"")
    assert model.asked == 2
    assert said == [{"kind": "note", "n": 1}, "agent.log"]
