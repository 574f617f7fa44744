"""What a run gives its agents besides the task: servers of further tools (MCP), and folders of skills."""

from typing import Literal

from pydantic import Field

from groundup.domain.names import Name
from groundup.domain.records import Record


class PinnedPackage(Record):
    """A package of a registry whose commands a server may be."""

    registry: Literal["pypi", "npm"]
    package: str
    version: str


class PinnedFolder(Record):
    """A folder of this machine, shown inside read-only."""

    path: str = Field(description="absolute")
    digest: str


class ToolServer(Record):
    """A server of the Model Context Protocol that runs inside the sandbox, spoken to by its stdin and stdout."""

    name: Name
    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    install: PinnedPackage | None = None
    folder: PinnedFolder | None = Field(default=None, description="`{folder}` in command and args stands for it")


class AgentExtras(Record):
    """All of them."""

    servers: tuple[ToolServer, ...] = ()
    skills: PinnedFolder | None = Field(default=None, description="each folder in it has a SKILL.md")

    @property
    def kinds(self) -> tuple[str, ...]:
        """What there is: `mcp`, `skills`."""
        return (*(("mcp",) if self.servers else ()), *(("skills",) if self.skills else ()))
