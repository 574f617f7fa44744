"""`groundup agents`: groundup's own agents, and the programs that it knows how to run."""

import shutil

from groundup.agents.cli.preset import Preset, absent_programs, preset_names, shipped_preset
from groundup.agents.opening import AGENTS, open_agent
from groundup.cli.console import print_document, print_table
from groundup.cli.options import Examples, Json
from groundup.domain.errors import UsageError
from groundup.domain.records import Record
from groundup.domain.subjects import PROGRAM_AGENT
from groundup.environments.installed_tools import FETCHED, python_at_hand
from groundup.settings import Settings, load

EXAMPLES: dict[str, Examples] = {
    "agents": (
        ("Which agents are there?", "groundup agents"),
        ("Run one of them", "groundup run nl2repobench -a claude-code -m anthropic/claude-sonnet-4-5"),
        ("For programs", "groundup agents --json"),
    ),
}


class AgentEntry(Record):
    """What `-a NAME` runs."""

    name: str
    version: str = ""
    description: str = ""
    package: str | None = None
    """`npm PACKAGE` or `pypi PACKAGE`; None: it is a part of groundup or of an installed package."""
    protocol: str = "any"
    """How it asks its model: chat, responses, messages, gemini, none; any: by the model's own client."""
    memory_mb: int | None = None
    missing: str = ""
    """What it lacks on this machine; empty: it can run here."""


def agents(json: Json = False) -> int:
    """List what `run -a` takes: agents and programs, the version tried last, and whether each can run here.

    `-a NAME` runs a program in the version shown, `-a NAME@VERSION` in another one, `-a ./FILE.toml` a program of
    your own (docs/agents.md).
    """
    settings = load()
    found = [_own(name) for name in AGENTS.names() if name != PROGRAM_AGENT]
    found += [_program(shipped_preset(name), settings) for name in preset_names()]
    found += [AgentEntry(name=name, missing=reason) for name, reason in sorted(absent_programs().items())]
    if json:
        print_document({"agents": [one.model_dump(mode="json") for one in found]})
        return 0
    rows = [
        (one.name, one.version, one.package or "-", one.protocol, one.missing or "yes", one.description)
        for one in found
    ]
    print_table("", ("agent", "version", "package", "speaks", "here", "about"), rows)
    return 0


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
