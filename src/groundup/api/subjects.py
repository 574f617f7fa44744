"""From flags to a subject: an agent with its model, settings, limits and strategy, and pinned extras."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, Self

from pydantic import ConfigDict, Field, JsonValue, ValidationError, model_validator

from groundup.api.flags import AnyPath, Assignments, EpisodeFlags, ModelFlags, SubjectFlags, money
from groundup.domain.errors import InfrastructureError, UsageError
from groundup.domain.limits import EpisodeLimits, Feedback, Selection
from groundup.domain.records import Record, plainly
from groundup.domain.subjects import AgentExtras, PinnedFolder, PinnedPackage, ToolServer
from groundup.runs.submissions import Named
from groundup.trees.digest import tree_digest
from groundup.trees.walking import read_regular


class _Server(Record):
    model_config = ConfigDict(frozen=True, extra="forbid")
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    install: PinnedPackage | None = None
    folder: str | None = None
    url: str | None = Field(default=None, pattern=r"^https?://[^\s]+$")
    headers: dict[str, str] = {}
    type: Literal["stdio", "http", "streamable-http"] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if bool(self.command) == (self.url is not None):
            raise ValueError("has either a command, and runs inside the sandbox, or a url")
        return self


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
    try:
        given = _File.model_validate(document)
        servers = tuple(
            ToolServer(
                name=name,
                folder=_pinned(path.parent / one.folder, f"--mcp {path}: {name}") if one.folder else None,
                **one.model_dump(exclude={"folder", "type"}),
            )
            for name, one in sorted(given.servers.items())
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"--mcp {path}: {'.'.join(map(str, first['loc']))}: {plainly(first)}") from error
    from groundup.agents.remote_tools import filled_headers

    for server in servers:
        filled_headers(server)
    return servers


def _pinned(path: Path, who: str) -> PinnedFolder:
    if not path.is_dir():
        raise UsageError(f"{who}: {path} is no folder")
    try:
        return PinnedFolder(path=str(path.resolve()), digest=tree_digest(path.resolve()).digest)
    except InfrastructureError as error:
        raise UsageError(f"{who}: {error}") from error


def assigned(given: Assignments, flag: str) -> dict[str, JsonValue]:
    """Return settings by name, each as it would arrive from the command line. Raises `UsageError`."""
    if isinstance(given, Mapping):
        given = [
            f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in given.items()
        ]
    return read_assignments(given or (), flag)


def read_assignments(texts: Iterable[str], flag: str) -> dict[str, JsonValue]:
    """Read `NAME=VALUE`; an object, a list, true, false and null are what they say, all else is a text.

    `NAME=@FILE` takes the file's text, which the run then keeps. The option decides whether a text is a number:
    for some, 3.10 is a version. Raises `UsageError`.
    """
    found: dict[str, JsonValue] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"{flag} {text!r}: write NAME=VALUE")
        if value.startswith("@"):
            value = _text_of(value[1:], flag)
        try:
            said = json.loads(value)
        except (ValueError, RecursionError):
            said = value
        plain = isinstance(said, str | int | float) and not isinstance(said, bool)
        found[name.strip().replace("-", "_")] = value if plain else said
    return found


def _text_of(path: str, flag: str) -> str:
    try:
        return read_regular(Path(path)).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        raise UsageError(f"{flag}: the file {path} cannot be read: {reason}") from error


def subject_of(agent: str, given: SubjectFlags) -> Named:
    """Return the subject that *given* describes. Raises `UsageError`."""
    return Named(
        agent=agent,
        model=given.get("model"),
        model_settings=settings_of_model(given),
        agent_options=assigned(given.get("agent_option"), "--agent-option"),
        limits=EpisodeLimits(
            turns=given.get("max_turns"),
            tokens=given.get("max_tokens"),
            cost_usd=money("--max-attempt-cost", given.get("max_attempt_cost")),
            wall_clock_s=given.get("max_seconds"),
        ),
        feedback=feedback_of(given),
        rounds=given.get("rounds", 1),
        select=_selection(given),
        extras=extras_from(_path(given.get("mcp")), _path(given.get("skills"))),
    )


def settings_of_model(given: ModelFlags) -> dict[str, JsonValue]:
    """Return the settings of a model that *given* says, not yet checked."""
    asked: dict[str, JsonValue] = {
        "base_url": given.get("base_url"),
        "temperature": given.get("temperature"),
        "max_output_tokens": given.get("max_output_tokens"),
        "context_tokens": given.get("context_tokens"),
        "reasoning_effort": given.get("reasoning_effort"),
    }
    return {
        **assigned(given.get("model_option"), "--model-option"),
        **{name: value for name, value in asked.items() if value is not None},
    }


def _selection(given: SubjectFlags) -> Selection | None:
    select = given.get("select")
    return None if select is None else Selection(select)


def _path(given: AnyPath | None) -> Path | None:
    return None if given is None else Path(given)


def feedback_of(given: SubjectFlags | EpisodeFlags) -> Feedback:
    """Return what `submit` says. Raises `UsageError`."""
    hidden, ends = given.get("hide_scores"), given.get("end_at_submit")
    if hidden and ends:
        raise UsageError("--end-at-submit shows no score either; leave --hide-scores out")
    return Feedback.HIDDEN if hidden else Feedback.END if ends else Feedback.SCORE
