"""The agent `cli` in a real sandbox: what a program gets, how it ends, and what it cannot reach."""

import dataclasses
import json
import socket
from pathlib import Path

import pytest

from groundup.agents.base import AgentContext, AgentResult
from groundup.agents.cli.agent import create
from groundup.domain.errors import MachineError, UsageError
from groundup.domain.limits import EpisodeLimits
from groundup.domain.subjects import Outcome
from groundup.environments.local import LocalBuilder
from groundup.models.protocol import ModelError, RefusedError
from groundup.sandbox.protocol import SandboxProvider
from tests.agents.cli.programs import ASKING, NOSY, preset
from tests.agents.fakes import FakeModel, Memory, agent_context, says
from tests.environments.conftest import MINOR
from tests.needs import lack
from tests.registries.fake_index import FakeIndex, make_wheel

pytestmark = pytest.mark.end_to_end

WITHHELD = ("original", "pytest")
"""Without pytest an agent's sandbox needs nothing of the index."""


@dataclasses.dataclass
class Stage:
    """Where a program is played, and what was seen of it."""

    root: Path
    provider: SandboxProvider
    builder: LocalBuilder
    memory: Memory = dataclasses.field(default_factory=Memory)
    kept: dict[str, bytes] = dataclasses.field(default_factory=dict)

    def context(self, model: FakeModel, limits: EpisodeLimits | None = None) -> AgentContext:
        """Return an attempt here."""
        made = agent_context(
            self.root, model, provider=self.provider, trajectory=self.memory, limits=limits, withheld=WITHHELD
        )
        task = made.task.but(metadata=made.task.metadata | {"python": MINOR})
        return dataclasses.replace(made, task=task, builder=self.builder, keep=self.kept.__setitem__)

    async def play(
        self, program: str, *arguments: str, model: FakeModel, limits: EpisodeLimits | None = None, **more: object
    ) -> AgentResult:
        """Run *program* on an attempt."""
        agent = create({"preset": preset(self.root, program, *arguments, **more)})
        return await agent.attempt(self.context(model, limits))


@pytest.fixture
async def stage(tmp_path: Path, provider: SandboxProvider, builder: LocalBuilder) -> Stage:
    """A stage below a folder of its own; its index has no pip, so the interpreter must bring one along."""
    if not (await builder.interpreter(MINOR)).has_pip:
        lack("bundled pip", f"the Python {MINOR} of this machine brings none along")
    root = tmp_path / "stage"
    root.mkdir()
    return Stage(root, provider, builder)


async def test_a_program_asks_its_model_and_hands_in_files(stage: Stage) -> None:
    """The program reads its task, asks its model through the gateway, and leaves a file; all of it is recorded."""
    program = ASKING + (
        "open('/workspace/hello.py', 'w').write(ask([{'role': 'user', 'content': task}]))\n"
        "open(os.path.expanduser('~/log.json'), 'w').write('[1]')\nprint('done')\n"
    )
    model = FakeModel([says("print('hello')")])
    ended = await stage.play(program, "{prompt_file}", model=model, trajectory=["log.json"])

    assert (ended.outcome, ended.turns) == (Outcome.SUBMITTED, 1)
    assert (ended.usage.input_tokens, ended.cost_usd) == (100, 0.01)
    assert {path.name for path in (stage.root / "workspace").iterdir()} == {"hello.py"}
    assert (stage.root / "workspace" / "hello.py").read_text() == "print('hello')"
    assert stage.memory.kinds() == ["program", "message", "reply", "used"]
    (message,) = stage.memory.of("message")
    assert message.keys() == {"kind", "exchange", "role", "content"}, "what it has not is left out"
    (used,) = stage.memory.of("used")
    assert used.keys() >= {"seconds", "peak_memory_mb", "cpu_s"}
    assert "Write it." in str(model.requests[0].messages[-1].content)
    assert stage.kept["stdout.log"] == b"done\n"
    assert stage.kept["trajectory-log.json"] == b"[1]"


@pytest.mark.parametrize(("words", "is_file"), [(10, False), (30_000, True)])
async def test_a_long_task_comes_in_a_file(stage: Stage, words: int, *, is_file: bool) -> None:
    """The system takes no argument of more than 128 KiB; such a program is told where to read."""
    context = stage.context(FakeModel([]))
    context = dataclasses.replace(context, task=context.task.but(instruction="word " * words))
    agent = create({"preset": preset(stage.root, "import sys\nprint(sys.argv[-1])\n", "{prompt}")})
    with pytest.raises(MachineError, match="exit code 0 before its model had answered"):
        await agent.attempt(context)
    said = stage.kept["stdout.log"]
    assert (b"Your task is described in the file" in said) is is_file
    assert said.count(b"word ") == (0 if is_file else words)


async def test_a_limit_on_turns_ends_a_program_that_goes_on(stage: Stage) -> None:
    """The gateway answers no more than the limit, and the attempt says which limit it was."""
    program = ASKING + "while True: ask([{'role': 'user', 'content': 'more'}])\n"
    model = FakeModel([says("more")] * 9)
    ended = await stage.play(program, "{prompt_file}", model=model, limits=EpisodeLimits(turns=2))
    assert (ended.outcome, ended.turns, len(model.requests)) == (Outcome.LIMIT, 2, 2)
    assert "2 turns" in ended.detail


async def test_a_budget_ends_a_program(stage: Stage) -> None:
    """An attempt's money ends it by name; what earlier tries of the attempt paid counts."""
    program = ASKING + "while True: ask([{'role': 'user', 'content': 'more'}])\n"
    limits = EpisodeLimits(cost_usd=0.025)
    first = await stage.play(program, "{prompt_file}", model=FakeModel([says("more")] * 9), limits=limits)
    assert (first.outcome, first.turns) == (Outcome.BUDGET, 3)

    model = FakeModel([says("more")] * 9)
    again = dataclasses.replace(stage, memory=stage.memory.resumed())
    second = await again.play(program, "{prompt_file}", model=model, limits=limits)
    assert (second.outcome, second.turns, model.requests) == (Outcome.BUDGET, 3, [])


async def test_time_ends_a_program(stage: Stage) -> None:
    """A program that never ends is ended, and what it has written counts."""
    program = ASKING + "import time; open('/workspace/half', 'w').write('x')\n"
    program += "ask([{'role': 'user', 'content': 'begun'}])\ntime.sleep(600)\n"
    ended = await stage.play(
        program, "{prompt_file}", model=FakeModel([says("go on")]), limits=EpisodeLimits(wall_clock_s=3)
    )
    assert ended.outcome is Outcome.LIMIT
    assert (stage.root / "workspace" / "half").exists()


async def test_a_program_that_fails_is_a_crash_with_its_words(stage: Stage) -> None:
    """What a program says when it fails is kept, and its last line is reported."""
    program = ASKING + "import sys; ask([{'role': 'user', 'content': 'begun'}]); sys.exit('no such flag')\n"
    ended = await stage.play(program, "{prompt_file}", model=FakeModel([says("go on")]))
    assert (ended.outcome, ended.turns) == (Outcome.CRASHED, 1)
    assert ended.detail == "the program ended with exit code 1: no such flag"
    assert stage.kept["stderr.log"] == b"no such flag\n"


async def test_what_its_commands_met_is_told(stage: Stage) -> None:
    """A program whose command was killed for its memory goes on, and how it ended names the limit."""
    program = ASKING + (
        "import subprocess, sys; ask([{'role': 'user', 'content': 'x'}])\n"
        "eats = 'x = []\\nwhile True: x.append(bytes(2**20))'\n"
        "print(subprocess.run([sys.executable, '-c', eats]).returncode)\n"
    )
    ended = await stage.play(program, "{prompt_file}", model=FakeModel([says("go on")]))
    assert (ended.outcome, stage.kept["stdout.log"]) == (Outcome.SUBMITTED, b"-9\n")
    assert ended.detail.startswith(
        "exit code 0; out of memory: a process was killed, for all together may use 512 MB"
    )


async def test_a_model_that_will_not_answer_is_no_crash(stage: Stage) -> None:
    """A program that fails because its model declined ends as refused, and what it had written counts."""
    program = ASKING + "open('/workspace/half', 'w').close()\nask([{'role': 'user', 'content': task}])\n"
    ended = await stage.play(program, "{prompt_file}", model=FakeModel([RefusedError("not this")]))
    assert (ended.outcome, ended.detail) == (Outcome.REFUSED, "not this")
    assert (stage.root / "workspace" / "half").exists()


async def test_a_model_that_cannot_be_reached_leaves_the_attempt_owed(stage: Stage) -> None:
    """A broken endpoint is never the program's fault, whatever the program makes of it."""
    with pytest.raises(ModelError, match="down"):
        await stage.play(
            ASKING + "ask([{'role': 'user', 'content': 'x'}])\n",
            "{prompt_file}",
            model=FakeModel([ModelError("the endpoint is down")]),
        )


async def test_a_nosy_program_finds_nothing(
    stage: Stage, index: FakeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys of the host, its files, hidden tests, the network and the original are all out of a program's reach."""
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-the-host")
    hidden = stage.root / "hidden_tests"
    hidden.mkdir()
    (hidden / "test_secret.py").write_text("hidden-test-of-the-host")
    (stage.root / "secret.txt").write_text("file-of-the-host")
    for name in ("helper", "original"):
        index.add(make_wheel(name, "1.0"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        host = [["127.0.0.1", listening.getsockname()[1]], ["192.0.2.1", 53], ["169.254.169.254", 80]]
        ended = await stage.play(NOSY, json.dumps(host), model=FakeModel(), protocol="none")

    assert ended.outcome is Outcome.SUBMITTED, stage.kept["stderr.log"].decode()
    report = json.loads((stage.root / "workspace" / "report.json").read_text())
    assert report["found"] == []
    assert report["outside"] == []
    assert report["index"] == {"helper": 200, "original": 403, "Original": 403, "ORIGINAL": 403}
    assert report["pip"]["helper"] == 0
    assert report["pip"]["original"] != 0
    # An interpreter may look for its own library where it was installed.
    assert [name for name in report["host"] if not name.startswith("libpython")] == []
    assert report["rights"] != 0
    assert not any(name.startswith("/packages/original") for name in index.asked)


async def test_tries_share_the_time_of_the_attempt(stage: Stage) -> None:
    """A program that was interrupted has what its earlier tries left; without any left it is not started."""
    stage.memory = Memory([{"kind": "reply", "spent_s": 60.0}])
    ended = await stage.play("raise SystemExit(3)", model=FakeModel(), limits=EpisodeLimits(wall_clock_s=60.0))
    assert (ended.outcome, stage.kept) == (Outcome.LIMIT, {})
    assert "used up by tries that were interrupted" in ended.detail


async def test_the_home_is_private_and_thrown_away(stage: Stage) -> None:
    """What one attempt's program leaves in its HOME or /tmp, the next one's does not find."""
    program = (
        "import os, sys\n"
        "mine = [os.path.expanduser('~/state'), '/tmp/state']\n"
        "left = [path for path in mine if os.path.exists(path)]\n"
        "[open(path, 'w').close() for path in mine]\n"
        "sys.exit(f'found {left}' if left else 0)\n"
    )
    for number in range(2):
        root = stage.root / str(number)
        root.mkdir()
        again = Stage(root, stage.provider, stage.builder)
        ended = await again.play(program, model=FakeModel(), protocol="none")
        assert ended.outcome is Outcome.SUBMITTED, ended.detail


def test_unknown_options_are_named() -> None:
    """An option that does not exist is reported by its name before anything runs."""
    with pytest.raises(UsageError, match="option presets of the agent cli"):
        create({"preset": "codex@1", "presets": "codex@1"})
    with pytest.raises(UsageError, match="option preset of the agent cli"):
        create({})
