"""Every command that the documentation shows is understood by the command line; the tutorial's are run."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from groundup.cli.main import create_app
from tests.docs.pages import PAGES, ROOT, blocks, command_lines, mentioned
from tests.needs import lack

SHOWN = [(page.name, tuple(line)) for page in PAGES for line in command_lines(page)]
SAID = sorted({(page.name, tuple(line)) for page in PAGES for line in mentioned(page)})
TUTORIAL = ROOT / "docs" / "tutorial.md"


def descend(arguments: list[str]) -> tuple[Any, list[str]]:
    """Return the command that *arguments* name, and what is left of them."""
    found: Any = create_app()
    while hasattr(found, "commands") and arguments and not arguments[0].startswith("-"):
        name, *arguments = arguments
        inner = found.get_command(typer.Context(found), name)
        assert inner is not None, f"no such command: {name}"
        found = inner
    return found, arguments


@pytest.mark.parametrize(("page", "line"), SHOWN, ids=lambda part: part if isinstance(part, str) else part[0])
def test_every_command_in_a_block_is_understood(page: str, line: tuple[str, ...]) -> None:
    """Who copies a line gets what it promises, not a complaint about options."""
    found, arguments = descend(list(line))
    if arguments and arguments[0] in ("--help", "--version", "--install-completion"):
        return
    found.make_context(found.name, arguments)


@pytest.mark.parametrize(("page", "line"), SAID, ids=lambda part: part if isinstance(part, str) else part[0])
def test_commands_and_options_that_sentences_name_exist(page: str, line: tuple[str, ...]) -> None:
    """A sentence may leave out arguments; the command and the options that it names are there."""
    found, arguments = descend(list(line))
    known = {option for one in found.params for option in one.opts} | {"--help"}
    assert {word.partition("=")[0] for word in arguments if word.startswith("-")} <= known


def test_pages_show_many_commands() -> None:
    """The two tests above look at something."""
    assert len(SHOWN) > 60
    assert len({line[0] for _, line in SHOWN}) > 20


@pytest.mark.end_to_end
@pytest.mark.registry
@pytest.mark.timeout(900)
def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    """A newcomer types what the tutorial shows, and every command ends with 0. What it prints is not compared."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GROUNDUP_")}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    doctor = subprocess.run(
        ["groundup", "doctor", "--json"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    facts = {fact["name"]: fact for fact in json.loads(doctor.stdout)["facts"]}
    for tool in ("a sandbox", "package index"):
        if facts[tool]["status"] != "good":
            lack(tool.removeprefix("a "), facts[tool]["value"])
    folder = tmp_path
    instead = "sqlparse"
    for block in blocks(TUTORIAL):
        if block.title:
            (folder / block.title).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.title).write_text(block.text, encoding="utf-8")
        for line in block.text.splitlines() if block.language == "console" else ():
            if line.startswith("$ cd "):
                folder = folder / line.removeprefix("$ cd ")
                instead = next((folder / "predictions").iterdir()).name  # the demo chose by what is on the machine
            elif line.startswith("$ "):
                _run(line.removeprefix("$ ").replace("sqlparse", instead), folder, environment)


def _run(line: str, folder: Path, environment: dict[str, str]) -> None:
    ended = subprocess.run(
        shlex.split(line), cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, f"{line}\n{ended.stdout}\n{ended.stderr}"
