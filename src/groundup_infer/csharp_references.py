"""Which C# projects of a repository refer to which: by the namespaces and types that they use of each other."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from groundup_infer.csharp_files import CSharpFile
from groundup_infer.csharp_projects import Project


class Use(NamedTuple):
    """Where a file uses something of another project or package."""

    path: str
    line: int
    name: str


@dataclass(frozen=True)
class ProjectFiles:
    """What the files of one project open, declare and mention."""

    project: Project
    files: Mapping[str, CSharpFile]
    mentions: Mapping[str, frozenset[str]]
    """By path, of the names that some file of the repository declares."""

    def types(self) -> dict[str, set[str]]:
        """Return names of types and of extension methods by namespace."""
        found: dict[str, set[str]] = defaultdict(set)
        for file in self.files.values():
            for namespace in file.namespaces or {""}:
                found[namespace] |= file.types
        return found

    @cached_property
    def shared(self) -> frozenset[str]:
        """Namespaces that are open in all files."""
        given = {one.namespace for one in self.project.usings}
        return frozenset(given | self.project.implicit_usings).union(
            *(file.shared for file in self.files.values())
        )

    def opened(self, file: CSharpFile) -> dict[str, int]:
        """Return the namespaces whose names *file* may use, with the line that opens each (0: none here)."""
        found = {"": 0} | dict.fromkeys(self.shared, 0)
        found |= dict(reversed(file.usings))
        around = {namespace[:end] for namespace in file.namespaces for end in _ends(namespace)}
        if len(around) * len(file.usings) > _MOST_PAIRS:
            return found
        # Inside of `namespace A.B`, `using C` may mean `A.C`.
        found |= {f"{outer}.{namespace}": line for outer in around for namespace, line in file.usings}
        return found | dict.fromkeys(around, 0)


def _ends(namespace: str) -> list[int]:
    """Return where *namespace* and the namespaces around it end."""
    return [*(at for at, letter in enumerate(namespace) if letter == "."), len(namespace)]


_MOST_PAIRS = 50_000
"""Of namespaces around a file's code and usings in it; what has more was generated, or made to take long."""
_MANY = 10
"""From this many names on a project is named though another reference brings it."""
_SEVERAL = 2


class _Found(NamedTuple):
    """What speaks for one reference."""

    use: Use
    names: frozenset[str]
    """Names of the other project that no third one offers in the same place."""
    is_told: bool


def referenced(parts: Sequence[ProjectFiles]) -> dict[str, dict[str, Use]]:
    """Return the projects that each project refers to, by path, with one use of each; never a circle.

    References pass on: what a project uses of another one that it has through a third counts where it is much.
    """
    candidates = _candidates(parts)
    for source, targets in candidates.items():
        for target in [*targets]:
            other = candidates[target].get(source)
            if other is not None and _strength(targets[target]) <= _strength(other):
                del targets[target]
    through = {source: all_referenced(candidates, source) for source in candidates}
    kept: dict[str, dict[str, Use]] = {}
    for source, targets in candidates.items():
        kept[source] = {}
        for target, found in targets.items():
            is_brought = any(
                target in through[one] and source not in through[one] for one in targets if one != target
            )
            if found.is_told or not is_brought or len(found.names) >= _MANY:
                kept[source][target] = found.use
    return kept


def _strength(found: _Found) -> tuple[bool, int]:
    return found.is_told, len(found.names)


def _candidates(parts: Sequence[ProjectFiles]) -> dict[str, dict[str, _Found]]:
    types = {part.project.path: part.types() for part in parts}
    providers: dict[str, list[Project]] = defaultdict(list)
    for part in parts:
        for namespace in types[part.project.path]:
            providers[namespace].append(part.project)
    found: dict[str, dict[str, _Found]] = {}
    for part in parts:
        uses: dict[str, list[Use]] = defaultdict(list)
        for target, use in _uses(part, types, providers):
            uses[target.path].append(use)
        told = {target.path for target in _told(part, [other.project for other in parts])}
        mine = part.project
        found[mine.path] = {
            other.project.path: _Found(
                min(uses.get(other.project.path, []), default=Use(mine.path, 1, other.project.name)),
                frozenset(use.name for use in uses.get(other.project.path, ())),
                other.project.path in told,
            )
            for other in parts
            if other.project.path in told
            or len({use.name for use in uses.get(other.project.path, ())}) >= _needed(mine, other.project)
        }
    return found


def _needed(mine: Project, other: Project) -> int:
    """Return how many names make a reference likely: tests and programs are seldom referred to."""
    if other.is_named_test:
        return _SEVERAL if mine.is_named_test else _MANY
    return _MANY if other.is_program and not mine.is_named_test else 1


def _uses(
    part: ProjectFiles, types: Mapping[str, Mapping[str, set[str]]], providers: Mapping[str, list[Project]]
) -> Iterator[tuple[Project, Use]]:
    """Yield what *part* uses of other projects, where only one of them offers a name in an open namespace."""
    mine = part.project
    own = types[mine.path]
    for path, file in part.files.items():
        for namespace, line in part.opened(file).items():
            # `using static` and aliases name a type, which stands in a namespace.
            opened = namespace if namespace in providers else namespace.rpartition(".")[0]
            wanted = part.mentions[path] - own.get(opened, set())
            offered: dict[str, list[Project]] = defaultdict(list)
            for other in providers.get(opened, ()):
                if other.path != mine.path:
                    for name in wanted & types[other.path][opened]:
                        offered[name].append(other)
            for name, others in offered.items():
                if len(others) == 1:
                    yield others[0], Use(path, max(line, 1), name)


def _told(part: ProjectFiles, others: Iterable[Project]) -> Iterator[Project]:
    """Yield the projects that show *part* their internals, that its tests are named after, or that it starts."""
    mine = part.project
    words = frozenset().union(*part.mentions.values()) if part.mentions else frozenset()
    for other in others:
        if other.path == mine.path:
            continue
        is_friend = mine.name in other.friends and (mine.is_named_test or not other.is_named_test)
        is_tested = mine.is_named_test and not other.is_named_test and mine.name.startswith(f"{other.name}.")
        is_started = "Projects" in words and other.identifier in words
        if is_friend or (is_tested and _is_suffix(mine.name[len(other.name) + 1 :])) or is_started:
            yield other


def _is_suffix(text: str) -> bool:
    """Whether *text* is all that tests add to the name of what they test."""
    return "." not in text and text.lower().endswith(("test", "tests", "specs"))


def all_referenced(found: Mapping[str, Collection[str]], path: str) -> frozenset[str]:
    """Return the projects that *path* refers to, and those that these refer to."""
    seen: set[str] = set()
    pending = [*found.get(path, ())]
    while pending:
        one = pending.pop()
        if one not in seen:
            seen.add(one)
            pending += found.get(one, ())
    return frozenset(seen)
