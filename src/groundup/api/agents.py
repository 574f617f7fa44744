"""What can be run on a suite: groundup's own agents, and the programs that it knows how to run."""

import shutil

from groundup.agents.cli.preset import Preset, absent_programs, preset_names, shipped_preset
from groundup.agents.opening import AGENTS, open_agent
from groundup.api.listings import RecordList
from groundup.domain.errors import UsageError
from groundup.domain.records import Record
from groundup.domain.subjects import PROGRAM_AGENT
from groundup.environments.at_hand import FETCHED, python_at_hand
from groundup.reports.views import View
from groundup.settings import Settings, load


class AgentEntry(Record):
    """What `-a NAME` runs."""

    name: str
    version: str = ""
    description: str = ""
    package: str | None = None
    """`npm PACKAGE` or `pypi PACKAGE`; None: it is a part of groundup or of an installed package."""
    protocol: str = "any"
    """How it asks its model: chat, responses, messages; any: by the model's own client."""
    memory_mb: int | None = None
    missing: str = ""
    """What it lacks on this machine; empty: it can run here."""


def list_agents(*, settings: Settings | None = None) -> RecordList[AgentEntry]:
    """List what `-a` takes, with the version of each program that was tried last and whether it can run here.

    Files are looked at, nothing is started or fetched.
    """
    found = settings or load()
    own = [_own(name) for name in AGENTS.names() if name != PROGRAM_AGENT]
    programs = [_program(shipped_preset(name), found) for name in preset_names()]
    absent = [AgentEntry(name=name, missing=reason) for name, reason in sorted(absent_programs().items())]
    entries = [*own, *programs, *absent]
    rows = tuple(
        (one.name, one.version, one.package or "-", one.protocol, one.missing or "yes", one.description)
        for one in entries
    )
    columns = ("agent", "version", "package", "speaks", "here", "about")
    return RecordList(entries, View(title="", columns=columns, rows=rows))


def _own(name: str) -> AgentEntry:
    try:
        agent = open_agent(name, {})
    except UsageError as error:
        return AgentEntry(name=name, missing=str(error))
    about = (type(agent).__doc__ or "").partition("\n")[0].rstrip(".")
    return AgentEntry(name=name, version=agent.version, description=about)


def _program(preset: Preset, settings: Settings) -> AgentEntry:
    install = preset.install
    missing = ""
    if install is not None and install.registry == "npm":
        missing = "" if shutil.which("node") and shutil.which("npm") else "no Node.js"
    elif install is not None and not python_at_hand(install.python, settings.cache_dir / FETCHED):
        missing = f"no Python {install.python}"
    return AgentEntry(
        name=preset.name,
        version=preset.proved or "",
        description=preset.description,
        package=None if install is None else f"{install.registry} {install.package}",
        protocol=preset.protocol,
        memory_mb=preset.min_memory_mb,
        missing=missing,
    )
