"""The documentation as tests read it: pages, their blocks of code, and the command lines in them."""

import re
import shlex
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = tuple(
    sorted([*ROOT.glob("docs/**/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"])
)

_FENCE = re.compile(r"(?:^`([^`\n]+)`:\n\n)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:^    .*\n|^\n)+", re.MULTILINE)
_CALL = re.compile(r"^(?:\$ )?(?:\.venv/bin/)?groundup .*$")
_NEXT = frozenset({"|", ">", "2>", "&&", ";"})
_NOT_SHELL = frozenset({"text", "toml", "python", "json", "jsonl", "markdown", "yaml", "ini"})


class Block(NamedTuple):
    """A block of code: the file that it shows, which the line before it names, its language, its text."""

    title: str
    language: str
    text: str


def blocks(page: Path) -> Iterator[Block]:
    """Yield the fenced and the indented blocks of *page*."""
    text = page.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        yield Block(*(part or "" for part in found.groups()))
    for indented in _INDENTED.findall(_FENCE.sub("\n", text)):
        yield Block("", "", re.sub(r"^    ", "", indented, flags=re.MULTILINE))


def command_lines(page: Path) -> Iterator[list[str]]:
    """Yield the arguments of every call of groundup in the blocks of *page*; lines of output are none."""
    for block in blocks(page):
        if block.language in _NOT_SHELL:
            continue
        for line in re.sub(r"\\\n\s*", "", block.text).splitlines():
            shown = line.startswith("$ ") if block.language == "console" else bool(_CALL.match(line))
            if shown and _CALL.match(line):
                words = shlex.split(line.removeprefix("$ "), comments=True)
                yield list(takewhile(lambda word: word not in _NEXT, words[1:]))


def mentioned(page: Path) -> Iterator[list[str]]:
    """Yield the words after `groundup` in code within sentences; such calls may be incomplete."""
    text = _INDENTED.sub("\n", _FENCE.sub("\n", page.read_text(encoding="utf-8")))
    for found in re.findall(r"`groundup ([^`]+)`", text):
        if not found.split()[0].isupper():  # `groundup COMMAND --help`
            yield shlex.split(found)
