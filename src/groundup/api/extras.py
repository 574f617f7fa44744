"""The files behind `--mcp` and `--skills`, read and pinned: what they hold decides what an agent can do."""

import json
from pathlib import Path

from pydantic import ConfigDict, Field, ValidationError

from groundup.domain.errors import InfrastructureError, UsageError
from groundup.domain.records import Record, plainly
from groundup.domain.subjects import AgentExtras, PinnedFolder, PinnedPackage, ToolServer
from groundup.trees.digest import tree_digest
from groundup.trees.walking import read_regular


class _Server(Record):
    model_config = ConfigDict(frozen=True, extra="forbid")
    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    install: PinnedPackage | None = None
    folder: str | None = None


class _File(Record):
    servers: dict[str, _Server] = Field(alias="mcpServers", min_length=1)


def extras_from(mcp: Path | None, skills: Path | None) -> AgentExtras:
    """Return what the file *mcp* and the folder *skills* give to agents. Raises `UsageError`."""
    folder = None if skills is None else _pinned(skills, "--skills")
    if skills is not None and not any(skills.glob("*/SKILL.md")):
        raise UsageError(f"--skills {skills}: no folder in it has a file SKILL.md")
    return AgentExtras(servers=() if mcp is None else _servers(mcp), skills=folder)


def _servers(path: Path) -> tuple[ToolServer, ...]:
    try:
        document = json.loads(read_regular(path))
    except OSError as error:
        raise UsageError(f"--mcp {path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--mcp {path} is no JSON: {error}") from error
    entries = document.get("mcpServers") if isinstance(document, dict) else None
    if not isinstance(entries, dict):
        raise UsageError(f"--mcp {path} has no `mcpServers`, an object of servers by name")
    for name, entry in entries.items():
        if isinstance(entry, dict) and "url" in entry:
            raise UsageError(
                f"--mcp {path}: {name} is outside of the sandbox, which has no network; "
                "name its `command`, and it runs inside"
            )
    try:
        given = _File.model_validate(document)
        return tuple(
            ToolServer(
                name=name,
                folder=_pinned(path.parent / one.folder, f"--mcp {path}: {name}") if one.folder else None,
                **one.model_dump(exclude={"folder"}),
            )
            for name, one in sorted(given.servers.items())
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"--mcp {path}: {'.'.join(map(str, first['loc']))}: {plainly(first)}") from error


def _pinned(path: Path, who: str) -> PinnedFolder:
    if not path.is_dir():
        raise UsageError(f"{who}: {path} is no folder")
    try:
        return PinnedFolder(path=str(path.resolve()), digest=tree_digest(path.resolve()).digest)
    except InfrastructureError as error:
        raise UsageError(f"{who}: {error}") from error
