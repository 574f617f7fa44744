"""Codex and Claude Code, as npm has them, play served episodes by MCP with a scripted model: what does it see?"""

import asyncio
import json
import os
import re
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from groundup.models.exchanges import Exchange
from groundup.models.gateway import ModelAddress, ModelGateway
from groundup.models.opening import open_model
from tests.needs import lack, need
from tests.patience import patient
from tests.serving.house import House, job_in, opened

PACKAGES = {"codex": "@openai/codex@0.169.0", "claude": "@anthropic-ai/claude-code@2.1.330"}
PAGE = Path(__file__).parents[2] / "docs" / "serving.md"
HOSTS = {"exec_command", "write_stdin", "shell", "Bash", "Edit", "Write"}
"""Tools of the programs' own, which would work on this machine."""


@pytest.fixture(scope="session")
def program_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Return the path of a program from npm; skip where it cannot be installed."""
    made: dict[str, str] = {}

    def find(name: str) -> str:
        if not os.environ.get("CLIENTS"):
            lack("make clients", f"installing {PACKAGES[name]} takes a while")
        need("npm")
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            command = ("npm", "install", "--silent", "--ignore-scripts", "--prefix", str(folder), PACKAGES[name])
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                lack(f"the package {PACKAGES[name]}", (done.stderr or done.stdout).strip()[-300:])
            own = folder / "node_modules" / PACKAGES[name].rpartition("@")[0]
            if (own / "install.cjs").exists():  # what npm asks its user to approve first
                subprocess.run(("node", "install.cjs"), cwd=own, check=True, capture_output=True)
            made[name] = str(folder / "node_modules" / ".bin" / name)
        return made[name]

    return find


@dataclass(frozen=True)
class Seen:
    """What a model got."""

    tools: set[str]
    results: Sequence[str]
    """Of its calls, in order."""
    everything: str


@asynccontextmanager
async def model(script: Path, exchanges: list[Exchange]) -> AsyncIterator[ModelAddress]:
    """Serve a scripted model in the forms that programs speak."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    async with (
        open_model(f"scripted/{script}") as chat,
        ModelGateway(chat, record=exchanges.append) as gateway,
    ):
        await gateway.server.serve(listening)
        yield gateway.address(port)


def command_of(name: str, house: House) -> str:
    """Return the page's command for a program."""
    text = PAGE.read_text().partition("\n## MCP\n")[2]
    command: str
    (command,) = (one for one in re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL) if f"| {name} " in one)
    return command.replace("http://127.0.0.1:8080", house.address).replace("sqlparse", "task-0000")


def variables_of(address: ModelAddress, program: str, home: Path) -> dict[str, str]:
    """Return what leads the programs to the scripted model."""
    (home / ".codex").mkdir(parents=True)
    (home / ".codex" / "config.toml").write_text(
        f'model = "{address.model}"\nmodel_provider = "gateway"\n[model_providers.gateway]\nname = "gateway"\n'
        f'base_url = "{address.chat_url}"\nenv_key = "OPENAI_API_KEY"\nwire_api = "responses"\n'
    )
    return {
        **address.environment(),
        "PATH": f"{Path(program).parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "NO_PROXY": "127.0.0.1",
        "ANTHROPIC_MODEL": address.model,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }


async def played(name: str, program: str, house: House, folder: Path, commands: Sequence[str]) -> Seen:
    """Let a program play, and return what its model saw."""
    exchanges = list[Exchange]()
    calls = [("bash", {"command": command}) for command in commands] + [("submit", {})]
    turns = [{"calls": [{"tool": f"mcp__groundup__{tool}", "arguments": given}]} for tool, given in calls]
    script = folder / "script.json"
    script.write_text(json.dumps({"turn": turns}))
    async with model(script, exchanges) as address:
        process = await asyncio.create_subprocess_exec(
            *("bash", "-c", command_of(name, house)),
            env=variables_of(address, program, folder / "home"),
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        said, _ = await asyncio.wait_for(process.communicate(), patient(200))
    assert process.returncode == 0, said.decode()[-3000:]
    asked = [exchange.request for exchange in exchanges]
    last = max(asked, key=lambda request: len(request.messages))
    results = [message.content for message in last.messages if message.role == "tool"]
    assert len(results) == len(calls), said.decode()[-3000:]
    assert any("Write task-0000." in message.content for message in last.messages if message.role == "user")
    tools = {tool.name for request in asked for tool in request.tools}
    return Seen(tools, results, json.dumps([request.model_dump(mode="json") for request in asked]))


@pytest.mark.registry
@pytest.mark.parametrize("name", PACKAGES)
async def test_a_program_shows_its_model_what_a_command_printed(
    tmp_path: Path, program_of: Callable[[str], str], name: str
) -> None:
    """Output, exit code and score; what is beside them for the trainer never reaches it."""
    async with opened(job_in(tmp_path)) as house:
        seen = await played(name, program_of(name), house, tmp_path, ["behave half", "ls"])
        assert not seen.tools & HOSTS
        assert "done\n[exit code 0]" in seen.results[0].replace("\\n", "\n")
        assert "Submitted. Score 0.5000: 1 of 2 passed." in seen.results[-1]
        assert "groundup/" not in seen.everything
        assert house.scores() == [0.5]


@pytest.mark.registry
@pytest.mark.parametrize("name", PACKAGES)
async def test_hidden_scores_stay_hidden(tmp_path: Path, program_of: Callable[[str], str], name: str) -> None:
    """With --hide-scores a model learns that it has submitted, and no number; the run has the score."""
    async with opened(job_in(tmp_path, hide_scores=True)) as house:
        seen = await played(name, program_of(name), house, tmp_path, ["behave half"])
        assert "Submitted." in seen.results[-1]
        assert not any(word in seen.results[-1] for word in ("0.5", "1 of 2", "passed", "reward", "total"))
        assert house.scores() == [0.5]
