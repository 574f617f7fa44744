"""Every command that the documentation shows is understood by the command line; the tutorial's are run."""

import asyncio
import json
import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import typer

from groundup.cli.main import create_app
from groundup.domain.names import without_codes
from groundup.environments.interpreters import present_interpreter
from tests.docs.pages import PAGES, ROOT, Block, blocks, command_lines, mentioned
from tests.needs import lack, need_command

SHOWN = [(page.name, tuple(line)) for page in PAGES for line in command_lines(page)]
SAID = sorted({(page.name, tuple(line)) for page in PAGES for line in mentioned(page)})


def descend(arguments: list[str]) -> tuple[Any, list[str]]:
    """Return the command that *arguments* name, and what is left of them."""
    found: Any = create_app()
    if arguments[:1] == ["help"]:  # `main` takes it as --help of what follows
        arguments = [] if arguments[1:] == ["all"] else arguments[1:]
    while hasattr(found, "commands") and arguments and not arguments[0].startswith("-"):
        name, *arguments = arguments
        inner = found.get_command(typer.Context(found), name)
        assert inner is not None, f"no such command: {name}"
        found = inner
    return found, arguments


@pytest.mark.parametrize(("page", "line"), SHOWN, ids=lambda part: part if isinstance(part, str) else part[0])
def test_every_command_in_a_block_is_understood(page: str, line: tuple[str, ...]) -> None:
    """Who copies a line gets what it promises, not a complaint about options."""
    need_command(line)
    found, arguments = descend(list(line))
    if arguments and arguments[0] in ("--help", "--version", "--install-completion"):
        return
    found.make_context(found.name, arguments)


@pytest.mark.parametrize(("page", "line"), SAID, ids=lambda part: part if isinstance(part, str) else part[0])
def test_commands_and_options_that_sentences_name_exist(page: str, line: tuple[str, ...]) -> None:
    """A sentence may leave out arguments; the command and the options that it names are there."""
    need_command(line)
    found, arguments = descend(list(line))
    known = {option for one in found.params for option in one.opts} | {"--help"}
    assert {word.partition("=")[0] for word in arguments if word.startswith("-")} <= known


def test_pages_show_many_commands() -> None:
    """The two tests above look at something."""
    assert len(SHOWN) > 60
    assert len({line[0] for _, line in SHOWN}) > 20


@pytest.mark.end_to_end
@pytest.mark.registry
@pytest.mark.needs("groundup_integrity")
@pytest.mark.timeout(900)
def test_pages_for_newcomers_do_what_they_say(tmp_path: Path) -> None:
    """A newcomer types what README and tutorial show, every command ends with 0, and prints what the page shows.

    Both begin with the demo, in the same folder: it is made once.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GROUNDUP_")}
    environment["COLUMNS"] = "120"  # as the page was made: a narrower table leaves columns out
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
    if asyncio.run(present_interpreter("3.10", tmp_path / "fetched")) is None:
        lack("Python 3.10", "the tutorial's service is graded with it, and none is on this machine")
    made: dict[str, str] = {}
    for page in (ROOT / "README.md", ROOT / "docs" / "tutorial.md"):
        _follow(page, tmp_path, environment, made)


def _follow(page: Path, folder: Path, environment: dict[str, str], made: dict[str, str]) -> None:
    """Do what *page* shows, beginning in *folder*; what is in *made* was done before, and printed that."""
    instead = "sqlparse"
    printed = ""
    for block in blocks(page):
        if block.title:
            (folder / block.title).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.title).write_text(block.text, encoding="utf-8")
        elif block.language in ("text", "json"):
            assert instead != "sqlparse" or not (lost := not_printed(block, printed)), f"{lost}\n{printed}"
        for line in block.text.splitlines() if block.language == "console" else ():
            if line.startswith("$ cd "):
                folder = folder / line.removeprefix("$ cd ")
                instead = next((folder / "predictions").iterdir()).name  # the demo chose by what is on the machine
            elif line.startswith("$ "):
                typed = line.removeprefix("$ ").replace("sqlparse", instead)
                printed = made[typed] = made.get(typed) or _run(typed, folder, environment)


def _run(line: str, folder: Path, environment: dict[str, str]) -> str:
    """Type *line* at a terminal, and return what it prints there, without styles."""
    terminal, program_side = pty.openpty()
    with tempfile.TemporaryFile() as said, os.fdopen(terminal, "rb") as reader:
        program = subprocess.Popen(
            shlex.split(line), cwd=folder, env={**environment, "TERM": "xterm"}, stdout=program_side, stderr=said
        )
        os.close(program_side)
        printed = b""
        with suppress(OSError):  # EIO: the program has ended
            while piece := reader.read1():
                printed += piece
        code = program.wait()
        said.seek(0)
        text = without_codes(printed.decode().replace("\r\n", "\n"))
        assert code == 0, f"{line}\n{text}\n{said.read().decode()}"
    return text


def not_printed(block: Block, printed: str) -> list[str]:
    """Return what *block* shows and *printed* has not; numbers, digests, blanks and `...` may differ.

    So may a guess of a line, for which a busy machine has no time.
    """
    if block.language == "json":
        return list(_missing(json.loads(block.text), json.loads(printed), ""))
    whole = _masked(printed)
    lines = [line for line in block.text.splitlines() if not line.strip().startswith(("...", "probably "))]
    return [line for line in lines if _masked(line) not in whole]


def _missing(shown: object, real: object, place: str) -> Iterator[str]:
    """Yield the places of *shown* that *real* lacks or has otherwise."""
    if isinstance(shown, dict) and isinstance(real, dict):
        for name, value in shown.items():
            yield from _missing(value, real[name], f"{place}.{name}") if name in real else (f"{place}.{name}",)
    elif isinstance(shown, list) and isinstance(real, list) and len(shown) <= len(real):
        for number, value in enumerate(shown):
            yield from _missing(value, real[number], f"{place}.{number}")
    elif not _masked(json.dumps(real)).startswith(_masked(json.dumps(shown)).split("...")[0]):
        yield place


def _masked(text: str) -> str:
    text = re.sub(r"sha256:[0-9a-f]+", "#", text)
    return " ".join(re.sub("─+", "─", re.sub(r"\d[\d.,:]*", "#", text)).split())


def test_what_a_page_shows_is_compared() -> None:
    """Another word is found, and another number is none."""
    assert not not_printed(Block("", "text", "a  b 12\n...\n"), "x\na b 3.5\n")
    assert not_printed(Block("", "text", "a c 12\n"), "a b 12\n") == ["a c 12"]
    shown, real = '{"a": {"b": "one ...", "c": [1]}}', '{"a": {"b": "one two", "c": [2, 3], "d": 4}}'
    assert not not_printed(Block("", "json", shown), real)
    assert not_printed(Block("", "json", shown.replace("b", "x")), real) == [".a.x"]
    assert not_printed(Block("", "json", shown.replace("one", "two")), real) == [".a.b"]
