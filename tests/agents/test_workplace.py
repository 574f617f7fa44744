"""The agents' sandbox: what is in it, what is not, and that it comes back when it dies."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from groundup.agents.loop import create
from groundup.agents.protocol import EpisodeLimits
from groundup.agents.workplace import PREFIX, Furnishing, make_prefix, open_workplace, task_python, tools_lock
from groundup.domain.errors import SandboxError
from groundup.domain.limits import Limits
from groundup.environments.requests import Layer, PythonEnvironment
from groundup.sandbox.bubblewrap import create as create_provider
from groundup.sandbox.fake import FakeProvider, answer
from groundup.sandbox.protocol import Command, Ending, SandboxProvider, SandboxSpec
from groundup.settings import Settings
from tests.agents.fakes import FakeModel, a_task, assignment, runs, says
from tests.needs import lack


@pytest.fixture
async def provider(tmp_path: Path) -> AsyncIterator[SandboxProvider]:
    """The default sandbox provider; skips where this machine cannot open sandboxes."""
    async with create_provider(Settings(cache_dir=tmp_path / "cache")) as found:
        (tmp_path / "try").mkdir()
        try:
            await (await found.open(SandboxSpec(workspace=tmp_path / "try"))).close()
        except SandboxError as error:
            lack("sandbox", error)
        yield found


def test_every_python_has_tools() -> None:
    """The lock names pytest, setuptools and wheel with hashes for every version that a task may ask for."""
    for python in ("3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"):
        lines = tools_lock(python, ())
        names = [line.partition("==")[0] for line in lines]
        assert {"pytest", "setuptools", "wheel"} <= set(names)
        assert len(set(names)) == len(names)
        assert all(" --hash=sha256:" in line and ";" not in line for line in lines)


@pytest.mark.parametrize("name", ["pluggy", "Typing_Extensions", "pytest"])
def test_what_is_to_be_written_is_not_among_the_tools(name: str) -> None:
    """A task that asks to write a part of pytest finds no pytest."""
    assert tools_lock("3.10", (name,)) == ()


def test_the_task_names_its_python() -> None:
    """And what is no version is not believed."""
    assert task_python(a_task(metadata={"python": "3.9"})) == "3.9"
    assert task_python(a_task(metadata={"python": "../../3"})) == task_python(a_task()) == "3.12"


def test_the_prefix_lies_on_top_of_the_layer(tmp_path: Path) -> None:
    """Scripts of the layer run in the agent's own environment, into which it can install."""
    layer = tmp_path / "layer"
    (layer / "bin").mkdir(parents=True)
    (layer / "bin/pip").write_text("#!/opt/env/bin/python\nimport pip\n")
    (layer / "bin/data").write_text("no script")
    (layer / "bin/python").symlink_to("/opt/python/bin/python3.12")
    (layer / "pyvenv.cfg").write_text("home = /opt/python/bin\n")
    environment = PythonEnvironment(
        layer=Layer(digest="sha256:0", kind="python", path=layer), mounts=(), path=(), python_version="3.12.1"
    )
    prefix = tmp_path / "prefix"
    make_prefix(environment, prefix)
    assert (prefix / "bin/pip").read_text() == f"#!{PREFIX}/bin/python\nimport pip\n"
    assert not (prefix / "bin/data").exists()
    assert str((prefix / "bin/python").readlink()) == "/opt/python/bin/python3.12"
    assert (
        prefix / "lib/python3.12/site-packages/_layer.pth"
    ).read_text() == "/opt/env/lib/python3.12/site-packages\n"


async def test_a_sandbox_that_dies_is_opened_again_but_not_for_ever(tmp_path: Path) -> None:
    """An agent that kills its sandbox in every command ends as a failure of the machine, not in a loop."""
    provider = FakeProvider(lambda spec, command: answer(None, ending=Ending.SANDBOX_DIED))
    async with open_workplace(assignment(tmp_path, FakeModel(), provider=provider)) as place:
        for _ in range(20):
            await place.run(Command(argv=("x",)))
        with pytest.raises(SandboxError, match="died 20 times"):
            await place.run(Command(argv=("x",)))
    assert len(provider.sandboxes) == 20
    assert all(sandbox.closed for sandbox in provider.sandboxes)


async def test_the_sandbox_has_the_tasks_limits_and_the_attempts_time(tmp_path: Path) -> None:
    """One processor and 2 GB where the task says so; the clock is the attempt's."""
    provider = FakeProvider()
    given = assignment(tmp_path, FakeModel(), provider=provider, limits=EpisodeLimits(wall_clock_s=77))
    async with open_workplace(given, Furnishing(environment={"A": "b"})) as place:
        await place.run(Command(argv=("x",)))
    (spec,) = provider.specs
    assert spec.limits == Limits(memory_mb=512, wall_clock_s=77)
    assert spec.environment["A"] == "b"


@pytest.mark.end_to_end
async def test_an_episode_in_a_real_sandbox(tmp_path: Path, provider: SandboxProvider) -> None:
    """Commands share files and background processes, output is one stream and capped, nothing outlives the end."""
    model = FakeModel(
        [
            runs(
                "echo out; echo err >&2; exit 3", "touch /workspace/made; cd /; (sleep 1000 & echo $! > /tmp/pid)"
            ),
            runs("pwd; ls; kill -0 $(cat /tmp/pid) && echo alive", "seq 100000"),
            runs("kill -9 -1", "ls"),
            says("Done."),
            says("Done."),
        ]
    )
    given = assignment(tmp_path, model, provider=provider)
    ended = await create({"output_bytes": 600}).attempt(given)
    assert ended.turns == 5
    told = [message.content for message in model.requests[-1].messages if message.role == "tool"]
    assert told[0] == "out\nerr\n[exit code 3]"
    assert told[2] == "/workspace\nmade\nalive\n[exit code 0]"
    assert "bytes left out" in told[3]
    assert len(told[3]) < 800
    assert told[5] == "made\n[exit code 0]"
    assert (given.workspace / "made").exists()


@pytest.mark.end_to_end
async def test_nothing_of_the_host_is_in_the_sandbox(tmp_path: Path, provider: SandboxProvider) -> None:
    """No way out, no credentials in the environment, no home of the host, no graders, no run folder."""
    model = FakeModel(
        [runs("env; ls -a ~ / /opt; cat /proc/1/environ", "echo > /dev/tcp/1.1.1.1/80"), says("x"), says("x")]
    )
    given = assignment(tmp_path, model, provider=provider)
    await create({}).attempt(given)
    told = [message.content for message in model.requests[-1].messages if message.role == "tool"]
    assert str(tmp_path) not in told[0]
    assert "groundup" not in told[0].lower().replace(".groundup", "").replace("hostname=groundup", "")
    assert "KEY" not in told[0]
    assert "[exit code 1]" in told[1]
