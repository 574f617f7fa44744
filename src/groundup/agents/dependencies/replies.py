"""What a reply gives for build files: whole contents, or dependencies to add. Paths must match exactly.

A file gets only what a reply gives for exactly its path, once. What is ambiguous is a problem, and the file stays.
"""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from groundup.agents.answers import FencedBlock, blocks, plain_path
from groundup.sources.files import looks_like_diff

_SHELLS = ("bash", "console", "powershell", "sh", "shell", "zsh")


class Edits(NamedTuple):
    """New contents by path, and what could not be used."""

    files: Mapping[str, bytes]
    problems: tuple[str, ...]


def whole_files(text: str, wanted: Sequence[str]) -> Edits:
    """Read new contents of the files in *wanted*.

    A single block without a name counts when there is a single file that it can be; commands and diffs are no
    whole file.
    """
    found: dict[str, bytes] = {}
    given: dict[str, list[FencedBlock]] = {}
    problems: list[str] = []
    nameless: list[FencedBlock] = []
    for block in blocks(text):
        if block.path is None and block.language not in _SHELLS:
            nameless.append(block)
        elif block.path is not None:
            given.setdefault(plain_path(block.path) or block.path, []).append(block)
    if not given and len(nameless) == 1 and len(wanted) == 1:
        given[wanted[0]] = nameless
    elif nameless and not given:
        problems.append(f"{len(nameless)} blocks do not say which file they are")
    elif not given:
        problems.append("the reply gives no file")
    for path, candidates in given.items():
        if path not in wanted:
            problems.append(f"{path[:200]!r} is none of the build files")
        elif not all(block.closed for block in candidates):
            problems.append(f"{path} has no end")
        elif len({block.content for block in candidates}) > 1:
            problems.append(f"{path} is given {len(candidates)} times, each time differently")
        elif looks_like_diff(candidates[0].content.encode(errors="replace")):
            problems.append(f"{path} is given as a diff, not as a whole file")
        else:
            found[path] = candidates[0].content.encode(errors="replace")
    return Edits(found, tuple(problems))


class Proposals(NamedTuple):
    """Dependencies to add by build file, and what could not be used."""

    lines: Mapping[str, tuple[str, ...]]
    problems: tuple[str, ...]


def proposals(text: str, wanted: Sequence[str]) -> Proposals:
    """Read a JSON object of build files, each with a list of dependencies as texts."""
    document = _object(text)
    if document is None:
        return Proposals({}, ("the reply holds no JSON object",))
    lines: dict[str, tuple[str, ...]] = {}
    problems = []
    for path, items in document.items():
        if path not in wanted:
            problems.append(f"{path[:200]!r} is none of the build files")
        elif not isinstance(items, list):
            problems.append(f"the entry for {path} is no list")
        else:
            lines[path] = tuple(item for item in items if isinstance(item, str) and item.strip())
    return Proposals(lines, tuple(problems))


def _object(text: str) -> dict[str, object] | None:
    """Return the last JSON object that stands in a block, or the one that the text is."""
    for candidate in [*(block.content for block in reversed(list(blocks(text)))), _braced(text)]:
        try:
            document = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(document, dict):
            return document
    return None


def _braced(text: str) -> str:
    return text[text.find("{") : text.rfind("}") + 1]
