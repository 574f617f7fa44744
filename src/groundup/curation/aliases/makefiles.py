"""Targets of Makefiles and recipes of justfiles: which lines they run."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath

from groundup.curation.tree import Tree, text_of

_RULE = re.compile(r"^([^\s:#=][^:#=]*?)\s*::?(?![=])\s*([^=#;]*)(?:;(.*))?(?:#.*)?$")
_VARIABLE = re.compile(r"^(?:export\s+)?([A-Za-z_]\w*)\s*(?:[:?+]?=)\s*(.*)$")
_USE = re.compile(r"\$[({](\w+)[)}]")
_RECIPE = re.compile(
    r"""^@?([A-Za-z_][\w-]*)((?:\s+[*+$]?[\w-]+(?:=(?:"[^"]*"|'[^']*'|[^\s:]+))?)*)\s*:(?!=)\s*([^#]*)$"""
)
_INSERTED = re.compile(r"\{\{\s*(.*?)\s*\}\}")
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_JUSTFILES = ("justfile", "Justfile", ".justfile", "JUSTFILE")
_MOST_TARGETS = 200


def make_lines(tree: Tree, folder: str, words: Sequence[str]) -> list[str] | None:
    """Return the lines that `make WORDS` runs; None when there is no Makefile, or no such target."""
    return _lines(tree, folder, words, _MAKEFILES, _read_makefile)


def just_lines(tree: Tree, folder: str, words: Sequence[str]) -> list[str] | None:
    """Return the lines that `just WORDS` runs; None when there is no justfile, or no such recipe."""
    return _lines(tree, folder, words, _JUSTFILES, _read_justfile)


class _Rules:
    """Targets with what they need and run."""

    def __init__(self) -> None:
        self.needs: dict[str, list[str]] = {}
        self.runs: dict[str, list[str]] = {}
        self.variables: dict[str, str] = {}

    def lines(self, target: str, done: set[str] | None = None) -> Iterator[str]:
        """Yield what is run for *target*, what it needs first, each target once."""
        done = set() if done is None else done
        known, stem = self.match(target)
        if known is None or target in done or len(done) > _MOST_TARGETS:
            return
        done.add(target)
        for need in self.needs[known]:
            yield from self.lines(need.replace("%", stem), done)
        for line in self.runs[known]:
            yield self.expanded(line.replace("$*", stem).replace("$@", target))

    def match(self, target: str) -> tuple[str | None, str]:
        """Return the rule for *target*, and what stands for `%` in it."""
        if target in self.runs:
            return target, ""
        for name in self.runs:
            head, percent, tail = name.partition("%")
            if percent and target.startswith(head) and target.endswith(tail):
                return name, target[len(head) : len(target) - len(tail)]
        return None, ""

    def expanded(self, text: str) -> str:
        """Return *text* with variables replaced, three levels deep."""
        for _ in range(3):
            text = _USE.sub(lambda match: self.variables.get(match[1], match[0]), text)
        return text.lstrip("@-+ ")


def _lines(
    tree: Tree, folder: str, words: Sequence[str], names: Sequence[str], read: Callable[[str], _Rules]
) -> list[str] | None:
    folder, targets = _place(folder, words)
    path = next((path for name in names if (path := str(PurePosixPath(folder, name))) in tree.paths()), None)
    text = None if path is None else text_of(tree, path)
    if text is None:
        return None
    rules = read(text)
    wanted = targets or [name for name in rules.runs if not name.startswith(".") and "%" not in name][:1]
    if not any(rules.match(target)[0] for target in wanted):
        return None
    return [line for target in wanted for line in rules.lines(target)]


def _place(folder: str, words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the folder after `-C`, and the targets."""
    targets = []
    skip = False
    for at, word in enumerate(words):
        if skip:
            skip = False
        elif word in ("-C", "--directory") and at + 1 < len(words):
            folder, skip = str(PurePosixPath(folder, words[at + 1])), True
        elif word in ("-j", "-f", "-l", "-o", "--justfile"):
            skip = word == "-f" or (words[at + 1 : at + 2] != [] and words[at + 1].isdigit())
        elif not word.startswith("-") and "=" not in word:
            targets.append(word)
    return folder, targets


def _read_makefile(text: str) -> _Rules:
    rules = _Rules()
    current: list[str] = []
    for line in re.sub(r"\\\r?\n\s*", " ", text).splitlines():
        if line.startswith("\t"):
            for name in current:
                rules.runs[name].append(line.strip())
        elif variable := _VARIABLE.match(line):
            rules.variables[variable[1]] = variable[2].strip()
        elif rule := _RULE.match(line):
            current = rule[1].split()
            for name in current:
                rules.needs.setdefault(name, []).extend(rule[2].split())
                rules.runs.setdefault(name, []).extend([rule[3].strip()] if rule[3] else [])
    return rules


def _read_justfile(text: str) -> _Rules:
    rules = _Rules()
    current = ""
    for line in text.splitlines():
        if line[:1] in (" ", "\t"):
            if current:
                rules.runs[current].append(line.strip())
        elif recipe := _RECIPE.match(line):
            current = recipe[1]
            rules.needs[current] = [word.strip("()") for word in recipe[3].split() if word != "&&"]
            rules.runs[current] = []
        elif assigned := re.match(r"""(\w[\w-]*)\s*:=\s*["']([^"']*)["']\s*$""", line):
            rules.variables[assigned[1]] = assigned[2]
    for name, lines in rules.runs.items():
        rules.runs[name] = [_INSERTED.sub(lambda match: rules.variables.get(match[1], ""), line) for line in lines]
    return rules
