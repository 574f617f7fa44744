"""What a model is shown of a repository, and what its reply gives for build files. Paths must match exactly.

What belongs to a task comes with it: its language and the build files that may be edited.

A file gets only what a reply gives for exactly its path, once. What is ambiguous is a problem, and the file stays.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, cast, get_args

from tree_sitter import Node

from groundup.agents.answers import FencedBlock, blocks, fenced, plain_path
from groundup.domain.errors import TaskError
from groundup.domain.languages import DependencyLanguage as Language
from groundup.domain.tasks import Task
from groundup.grammars import ancestors, captures, parse, text_of
from groundup.languages import LANGUAGES
from groundup.sources.files import SUFFIXES, SourceFile, as_utf8, grammar_of, looks_like_diff, read_tree
from groundup.trees.walking import read_own

_HOLDERS = {"lexical_declaration", "variable_declaration", "expression_statement", "return_statement"}
_LONGEST = 2000


def import_statements(file: SourceFile, language: Language) -> list[str]:
    """Return the statements in order, each once; nothing where the file cannot be parsed."""
    grammar = grammar_of(language, file.suffix)
    found: dict[str, None] = {}
    for name, node in captures(grammar, LANGUAGES[language].imports, parse(grammar, file.data).root_node):
        if name != "function":
            text = text_of(_statement(node) if name == "call" else node)
            found.setdefault(text if len(text) <= _LONGEST else text_of(node)[:_LONGEST])
    return list(found)


def _statement(call: Node) -> Node:
    """Return the statement around a call of `require`, where it is a short one."""
    for node, _ in ancestors(call):
        if node.type in _HOLDERS:
            return node if node.end_byte - node.start_byte <= _LONGEST else call
    return call


@dataclass(frozen=True)
class MaskedRepository:
    """One repository whose build files lack their dependencies."""

    root: Path
    language: Language
    build_files: tuple[str, ...]
    sources: tuple[SourceFile, ...]

    def build_file(self, path: str) -> bytes | None:
        """Return the content of a build file as it is; None when it is not there."""
        return read_own(self.root / path)

    def shown_build_files(self) -> str:
        return "\n".join(self.shown_build_file(path) for path in self.build_files)

    def shown_build_file(self, path: str) -> str:
        return fenced(path, as_utf8(self.build_file(path) or b"").decode(errors="replace"))

    def shown_sources(self) -> str:
        return "\n".join(shown_source(file) for file in self.sources)

    def shown_imports(self) -> str:
        return "\n".join(fenced(path, "\n".join(statements)) for path, statements in self.imports().items())

    def imports(self) -> dict[str, list[str]]:
        found = {file.path: import_statements(file, self.language) for file in self.sources}
        return {path: statements for path, statements in found.items() if statements}


def shown_source(file: SourceFile) -> str:
    return fenced(file.path, file.data.decode(errors="replace"))


def read_repository(task: Task, root: Path) -> MaskedRepository:
    """Read the workspace of *task*. Raises `TaskError` for one that asks for no dependencies."""
    language, listed = task.metadata.get("language"), task.metadata.get("build_files")
    if language not in get_args(Language) or not isinstance(listed, str):
        raise TaskError(
            f"{task.id} does not say in which language and build files dependencies are missing; use another agent"
        )
    build_files: Sequence[str] = json.loads(listed)
    known = cast(Language, language)
    suffixes = SUFFIXES[known]
    sources = tuple(
        file for file in read_tree(root).sources if file.suffix in suffixes and file.path not in build_files
    )
    return MaskedRepository(root, known, tuple(build_files), sources)


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
