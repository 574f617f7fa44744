"""What a run's extras become in a sandbox: mounts, commands of tool servers, and the prompt's part on skills."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from groundup.agents.base import AgentContext
from groundup.agents.remote_tools import stand_in
from groundup.domain.errors import UsageError
from groundup.domain.subjects import AgentExtras, PinnedFolder, ToolServer
from groundup.environments.requests import ProgramRequest
from groundup.sandbox.protocol import Mount
from groundup.trees.digest import tree_digest

SKILLS = "/opt/skills"
_SERVERS = "/opt/mcp"
_HEAD = 4000
"""Of a SKILL.md, where its name and description are looked for."""
_DESCRIPTION = 500


class StartedBy(NamedTuple):
    """How a tool server is started inside."""

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]


class Furnishing(NamedTuple):
    """What a sandbox needs for a run's extras."""

    mounts: tuple[Mount, ...] = ()
    servers: tuple[StartedBy, ...] = ()


async def furnished(context: AgentContext) -> Furnishing:
    """Return it; servers' packages are installed. Raises `UsageError` for a folder that has changed."""
    mounts: list[Mount] = []
    servers = []
    for server in context.extras.servers:
        if server.url is not None:
            servers.append(StartedBy(server.name, stand_in(server), {}))
            continue
        place = f"{_SERVERS}/{server.name}"
        if server.folder is not None:
            await asyncio.to_thread(_refuse_changed, server.folder)
            mounts.append(Mount(source=Path(server.folder.path), target=place))
        command, environment = server.command, dict(server.env)
        if server.install is not None:
            program = await context.builder.program(ProgramRequest(**server.install.model_dump()))
            mounts += [one for one in program.mounts if one not in mounts]
            environment = {**program.environment, **environment}
            command = command if "/" in command else f"{program.bin}/{command}"
        argv = tuple(part.replace("{folder}", place) for part in (command, *server.args))
        servers.append(StartedBy(server.name, argv, environment))
    if context.extras.skills is not None:
        await asyncio.to_thread(_refuse_changed, context.extras.skills)
        mounts.append(Mount(source=Path(context.extras.skills.path), target=SKILLS))
    return Furnishing(tuple(mounts), tuple(servers))


def _refuse_changed(folder: PinnedFolder) -> None:
    if not Path(folder.path).is_dir() or tree_digest(Path(folder.path)).digest != folder.digest:
        raise UsageError(f"{folder.path} is not as it was when the run began; restore it, or begin another run")


def skills_of(extras: AgentExtras) -> list[tuple[str, str, str]]:
    """Return name, description and path inside of each skill."""
    if extras.skills is None:
        return []
    found = []
    for path in sorted(Path(extras.skills.path).glob("*/SKILL.md")):
        fields = _front_matter(path.read_text(encoding="utf-8", errors="replace")[:_HEAD])
        about = fields.get("description", "")[:_DESCRIPTION]
        found.append((fields.get("name", path.parent.name), about, f"{SKILLS}/{path.parent.name}/SKILL.md"))
    return found


def _front_matter(text: str) -> dict[str, str]:
    """Return the plain lines `key: value` between the first two lines `---`."""
    if not text.startswith("---\n"):
        return {}
    head = text[4:].partition("\n---")[0]
    pairs = (line.partition(":") for line in head.splitlines())
    return {key.strip(): value.strip().strip("\"'") for key, _, value in pairs if value.strip()}


def named(server: ToolServer | StartedBy, tool: str) -> str:
    """Return the name under which a model sees a server's tool."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in f"{server.name}__{tool}")[:64]
