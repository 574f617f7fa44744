"""Clients of others play whole episodes, each in its own environment, and so do the examples of docs/serving.md.

CI runs what is small; `make clients` runs all, also NL2RepoBench in real sandboxes.
"""

import asyncio
import base64
import io
import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

import groundup
from groundup.cli.serve import serve_job
from groundup.domain.errors import UsageError
from groundup.registries.uv import uv_program
from groundup.settings import load
from tests.needs import lack, need
from tests.patience import patient
from tests.serving.house import House, job_in, opened
from tests.serving.proxy import breaking

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "serving.md"
PACKAGES = {"openreward": "openreward", "ors": "ors-sdk", "openenv": "openenv", "mcp": ""}
"""What the programs in `clients/` need; nothing: what these tests run with has it."""
SMALL = ("mcp", "ors")
BRIDGED = ("mcp", "openenv")
"""Whose protocols are those of a package beside groundup."""
SECTIONS = {"ORS": "openreward", "OpenEnv": "openenv", "NeMo Gym": "mcp", "MCP": "mcp"}

Pythons = Callable[[str], str]
CUTS = (0, 100, 175, 200, 240, 400, 600, 900, 1300)
"""Bytes of a connection's answers after which it is broken."""


@pytest.fixture(scope="session")
def python_of(tmp_path_factory: pytest.TempPathFactory) -> Pythons:
    """Return an interpreter that has a client; skip where it cannot be installed."""
    made: dict[str, str] = {}

    def find(client: str) -> str:
        if client in BRIDGED:
            need("groundup_bridges")
        if client not in SMALL and not os.environ.get("CLIENTS"):
            lack("make clients", f"installing {client} takes a while")
        if not (package := PACKAGES[client]):
            return sys.executable
        if client not in made:
            folder = tmp_path_factory.mktemp(client) / "venv"
            for arguments in (
                ("venv", "-p", sys.executable, folder),
                ("pip", "install", "-q", "-p", folder, package),
            ):
                done = subprocess.run([uv_program(), *arguments], capture_output=True, text=True, check=False)
                if done.returncode:
                    lack(f"the package {package}", done.stderr.strip()[-300:])
            made[client] = str(folder / "bin" / "python")
        return made[client]

    return find


async def run(python: str, *arguments: str, **variables: str) -> str:
    """Run a program and return what it printed; it may not take for ever."""
    return (await ran(python, *arguments, **variables))[0]


async def ran(python: str, *arguments: str, **variables: str) -> tuple[str, str]:
    """Run a program and return its output and its complaints."""
    environment = {"PATH": os.defpath, "NO_PROXY": "127.0.0.1", **variables}
    process = await asyncio.create_subprocess_exec(
        python, *arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    printed, said = await asyncio.wait_for(process.communicate(), patient(200))
    assert process.returncode == 0, said.decode()[-3000:]
    return printed.decode(), said.decode()


async def played(client: str, python: str, house: House, *commands: str, **variables: str) -> list[float]:
    """Return the rewards that a client saw."""
    program = HERE / "clients" / f"play_{client}.py"
    rewards: list[float] = json.loads(await run(python, str(program), house.address, *commands, **variables))
    return rewards


@pytest.mark.registry
@pytest.mark.parametrize("client", PACKAGES)
async def test_a_client_plays(tmp_path: Path, python_of: Pythons, client: str) -> None:
    """One episode to 1, one to 0; the run's records say the same."""
    python = python_of(client)
    async with opened(job_in(tmp_path)) as house:
        told = {"ENVIRONMENT": "toy", "TASK": "task-0000", "BEGINS": "done"}
        assert await played(client, python, house, "behave pass", "behave fail", **told) == [1.0, 0.0]
        assert house.scores() == [1.0, 0.0]


@pytest.mark.registry
@pytest.mark.parametrize("client", ["openreward", "ors"])
async def test_a_client_plays_through_connections_that_break(
    tmp_path: Path, python_of: Pythons, client: str
) -> None:
    """At every stage; its SDK tries again. Each command is run once, and each reward is recorded once."""
    python = python_of(client)
    async with opened(job_in(tmp_path)) as house, breaking(house.address, *CUTS) as proxy:
        told = {"ENVIRONMENT": "toy", "TASK": "task-0000", "BEGINS": "done"}
        words = [f"behave {word}" for word in ("pass", "fail") * 4]
        house.address = proxy.address
        assert await played(client, python, house, *words, **told) == [1.0, 0.0] * 4
        assert house.scores() == [1.0, 0.0] * 4
        assert proxy.broken > len(CUTS) // 2
        for number in range(8):
            commands = house.job.path / "attempts" / "task-0000" / str(number) / "submission" / "commands"
            assert len(commands.read_text().splitlines()) == 2


@pytest.mark.registry
@pytest.mark.end_to_end
@pytest.mark.parametrize("client", PACKAGES)
async def test_a_client_plays_nl2repobench(tmp_path: Path, python_of: Pythons, client: str) -> None:
    """In real sandboxes: the original, unpacked by bash, is worth 1; an empty workspace is worth 0."""
    if not os.environ.get("CLIENTS"):
        lack("make clients", "real episodes take a while")
    try:
        job = serve_job("nl2repobench", settings=load({"output": tmp_path}), tasks=["jsonlines"])
    except UsageError as error:
        lack("data of NL2RepoBench", error)
    python, command = python_of(client), f"echo {original(tmp_path)} | base64 -d | tar xz"
    async with opened(job) as house:
        told = {"ENVIRONMENT": "nl2repobench", "TASK": "jsonlines", "BEGINS": "   begin"}
        assert await played(client, python, house, command, "true", **told) == [1.0, 0.0]
        assert house.scores() == [1.0, 0.0]


def original(folder: Path) -> str:
    """Return an archive of jsonlines, as text."""
    oracle = groundup.run("nl2repobench", "oracle", tasks=["jsonlines"], output=folder, run_id="oracle")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.add(oracle.folder / "attempts" / "jsonlines" / "0" / "submission", arcname=".")
    return base64.b64encode(packed.getvalue()).decode()


@pytest.mark.parametrize("section", SECTIONS)
async def test_an_example_of_the_page_works(tmp_path: Path, python_of: Pythons, section: str) -> None:
    """It is at most 20 lines long, and its last line prints the reward of an empty workspace."""
    text = re.split(rf"^## {section}$", PAGE.read_text(), flags=re.MULTILINE)[1].partition("\n## ")[0]
    (example,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(example.splitlines()) <= 20
    python = python_of(SECTIONS[section])
    async with opened(job_in(tmp_path)) as house:
        for name, here in (
            ("http://127.0.0.1:8080", house.address),
            ("nl2repobench", "toy"),
            ("sqlparse", "task-0000"),
        ):
            example = example.replace(name, here)
        addresses = {"OPENREWARD_API_URL": house.address, "OPENREWARD_SESSION_URL": house.address}
        printed, said = await ran(python, "-c", example, OPENREWARD_API_KEY="none", **addresses)
        assert "Unclosed" not in said, said  # people copy the example, so it ends what it opened
        assert printed.splitlines()[0].startswith("Write task-0000.") or section == "NeMo Gym"
        assert printed.splitlines()[-1] == "0.0"
        assert house.scores() == [0.0]
