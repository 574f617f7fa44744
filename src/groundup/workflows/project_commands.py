"""A project's names for commands: Makefiles, just, pyproject.toml, hatch, package.json, aliases of Cargo."""

import fnmatch
import itertools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from groundup.sources.project_files import json_of, table_at, toml_of
from groundup.workflows.tree import RepositoryTree, text_of

_RULE = re.compile(r"^([^\s:#=][^:#=]*?)\s*::?(?![=])\s*([^=#;]*)(?:;(.*))?(?:#.*)?$")
_VARIABLE = re.compile(r"^(?:export\s+)?([A-Za-z_]\w*)\s*(?:[:?+]?=)\s*(.*)$")
_USE = re.compile(r"\$[({](\w+)[)}]")
_RECIPE = re.compile(
    r"""^@?([A-Za-z_][\w-]*)((?:\s+[*+$]?[\w-]+(?:=(?:"[^"]*"|'[^']*'|[^\s:]+))?)*)\s*:(?!=)\s*([^#]*)(?:#.*)?$"""
)
_INSERTED = re.compile(r"\{\{\s*(.*?)\s*\}\}")
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_JUSTFILES = ("justfile", "Justfile", ".justfile", "JUSTFILE")
_MOST_TARGETS = 200


def make_lines(tree: RepositoryTree, folder: str, words: Sequence[str]) -> list[str] | None:
    """Return the lines that `make WORDS` runs; None when there is no Makefile, or no such target."""
    return _lines(tree, folder, words, _MAKEFILES, _read_makefile)


def just_lines(tree: RepositoryTree, folder: str, words: Sequence[str]) -> list[str] | None:
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

    def leave_up_to_date(self, folder: str, paths: Collection[str]) -> None:
        """Run nothing for targets that lie there as files or folders and need nothing: they are up to date."""
        phony = self.needs.get(".PHONY", [])
        is_known = not any(re.search(r"[$%]", name) for name in phony)
        for target, needs in self.needs.items():
            path = str(PurePosixPath(folder, target))
            if (
                is_known
                and not needs
                and target not in phony
                and any(f"{one}/".startswith(f"{path}/") for one in paths)
            ):
                self.runs[target] = []

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
        line = text.lstrip("@-+ ")
        return f"{line} || true" if "-" in text[: len(text) - len(line)] else line


def _lines(
    tree: RepositoryTree, folder: str, words: Sequence[str], names: Sequence[str], read: Callable[[str], _Rules]
) -> list[str] | None:
    folder, targets = _place(folder, words)
    path = next((path for name in names if (path := str(PurePosixPath(folder, name))) in tree.paths()), None)
    text = None if path is None else text_of(tree, path)
    if text is None:
        return None
    rules = read(text)
    if read is _read_makefile:
        rules.leave_up_to_date(folder, tree.paths())
    wanted = targets or [name for name in rules.runs if not name.startswith(".") and "%" not in name][:1]
    if not any(rules.match(target)[0] for target in wanted):
        return None
    lines = [line for target in wanted for line in rules.lines(target)]
    goes_on = any(word == "--ignore-errors" or re.fullmatch(r"-[a-zA-Z]*i[a-zA-Z]*", word) for word in words)
    return [f"{line} || true" for line in lines] if goes_on and read is _read_makefile else lines


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
    if ".IGNORE" in rules.needs:
        for name in rules.needs[".IGNORE"] or rules.runs:
            rules.runs[name] = [f"-{line}" for line in rules.runs.get(name, ())]
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


def cargo_words(tree: RepositoryTree, folder: str, words: Sequence[str]) -> list[str]:
    """Return what `cargo NAME ...` calls where NAME is an alias of the repository."""
    at = next((at for at, word in enumerate(words) if at and not word.startswith(("-", "+"))), None)
    for name in (".cargo/config.toml", ".cargo/config") if at is not None else ():
        for place in dict.fromkeys((folder, "")):
            meant = table_at(_document(tree, place, name), "alias").get(words[at or 0])
            parts = meant.split() if isinstance(meant, str) else meant if isinstance(meant, list) else []
            if parts and all(isinstance(part, str) for part in parts):
                return [*words[:at], *map(str, parts), *words[(at or 0) + 1 :]]
    return list(words)


_MOST = 200


def task_lines(tree: RepositoryTree, folder: str, name: str) -> list[str] | None:
    """Return what a task of poe, pdm, pixi or taskipy called *name* runs; None when there is none."""
    tool = table_at(_document(tree, folder, "pyproject.toml"), "tool")
    for keys in (
        ("poe", "tasks"),
        ("pdm", "scripts"),
        ("pixi", "tasks"),
        ("taskipy", "tasks"),
        ("rye", "scripts"),
    ):
        tasks = table_at(tool, *keys)
        if name in tasks:
            return _some(_task_lines(tasks, name, set()))
    return None


def hatch_lines(tree: RepositoryTree, folder: str, called: str, chosen: Sequence[str] = ()) -> list[str] | None:
    """Return what `hatch run CALLED` runs; *called* is `script` or `environment:script`.

    *chosen* may leave some of a matrix: `+type=default`, `-py=3.8`. What the matrix overrides for one that is left
    counts beside what the environment says itself.
    """
    environment, _, script = called.rpartition(":")
    environments = table_at(_document(tree, folder, "hatch.toml"), "envs")
    if not environments:
        environments = table_at(_document(tree, folder, "pyproject.toml"), "tool", "hatch", "envs")
    environment = environment.lstrip("+-").split(".")[0] or "default"
    scripts = {**table_at(environments, "default", "scripts"), **table_at(environments, environment, "scripts")}
    for override in _hatch_overrides(table_at(environments, environment, "overrides"), chosen):
        for name, line in override.items():
            scripts[name] = [*_of(scripts.get(name)), line]
    return _some(_task_lines(scripts, script, set())) if script in scripts else None


def _hatch_overrides(overrides: Mapping[str, object], chosen: Sequence[str]) -> Iterator[Mapping[str, str]]:
    """Yield scripts that a matrix, a variable or a platform gives: `KEY=VALUE`, or tables of key and value."""
    for source, variables in overrides.items():
        for variable, options in variables.items() if isinstance(variables, Mapping) else ():
            for option in ("scripts", "set-scripts"):
                given = options.get(option) if isinstance(options, Mapping) else None
                for item in given if isinstance(given, list) else [given]:
                    if isinstance(item, str) and "=" in item:
                        name, _, line = item.partition("=")
                        yield {name: line}
                    elif isinstance(item, Mapping) and (source != "matrix" or _is_left(item, variable, chosen)):
                        yield {str(item.get("key", "")): str(item.get("value", ""))}


def _is_left(item: Mapping[str, object], variable: str, chosen: Sequence[str]) -> bool:
    """Whether an override holds for a leg that is not filtered out."""
    wanted = item.get("if")
    values = {str(value) for value in wanted} if isinstance(wanted, list) else None
    for word in chosen:
        name, equals, listed = word[1:].partition("=")
        if values is not None and equals and name == variable:
            values = values & set(listed.split(",")) if word[0] == "+" else values - set(listed.split(","))
    return values is None or bool(values)


def _some(lines: Iterator[str]) -> list[str]:
    """Return lines, as many as people write."""
    return list(itertools.islice(lines, _MOST))


def _task_lines(tasks: Mapping[str, object], name: str, done: set[str]) -> Iterator[str]:
    """Yield what a task runs, with the tasks that it names, each once."""
    done.add(name)
    for line in _of(tasks[name]):
        first = line.split()[0] if line.split() else ""
        if first in tasks and first not in done and len(done) < _MOST:
            yield from _task_lines(tasks, first, done)
        elif first not in tasks or first == name:
            yield line


def _of(task: object) -> Sequence[str]:
    if isinstance(task, str):
        return [task]
    if isinstance(task, list):
        return [line for item in task for line in _of(item)]
    if isinstance(task, Mapping):
        for key in ("cmd", "shell", "script", "sequence", "composite", "ref", "call", "depends-on"):
            if key in task:
                given = task[key]
                is_one = key == "cmd" and isinstance(given, list)  # pdm's and pixi's words of one command
                lines = [" ".join(map(str, given))] if is_one else _of(given)
                goes_on = task.get("ignore_fail") in (True, "return_zero") or task.get("keep_going") is True
                return [f"{line} || true" for line in lines] if goes_on else lines
    return []


def _document(tree: RepositoryTree, folder: str, name: str) -> Mapping[str, object]:
    return toml_of(text_of(tree, str(PurePosixPath(folder, name))))


_VERBS = frozenset({"run", "run-script", "rum", "urn"})
_SHORT = {"t": "test", "tst": "test", "it": "test", "install-test": "test", "cit": "test"}
OWN_COMMANDS = frozenset({
    "install", "i", "ci", "add", "update", "up", "config", "pack", "link", "cache", "set", "audit", "dedupe",
    "login", "version", "publish", "view", "ls", "list", "init", "create", "rm", "uninstall", "clean-install",
    "why", "rebuild", "store", "import", "root", "env", "fetch", "prune", "setup", "global", "info", "outdated",
    "deploy", "remove", "dist-tag", "approve-builds", "plugin", "token", "whoami", "x", "exec", "dlx",
})  # fmt: skip
"""Commands of package managers, which are no scripts."""
_VALUED = frozenset({
    "--filter", "-F", "-w", "--workspace", "-C", "--dir", "--prefix", "--cwd", "--stream", "--loglevel", "--scope",
})  # fmt: skip
_FOLDERS = frozenset({"-C", "--dir", "--prefix", "--cwd"})
_MOST_PACKAGES = 40


class Called:
    """Which script a command line names, and where."""

    def __init__(self, words: Sequence[str], folder: str) -> None:
        self.script = ""
        self.folder = folder
        self.everywhere = False
        self.beside_root = False
        """Whether npm calls it in its workspaces, of which the root is none."""
        self.member = ""
        rest = list(words)
        while rest:
            word = rest.pop(0)
            option, equals, value = word.partition("=")
            if equals and option in _VALUED:
                word, rest = option, [value, *rest]
            if word in _FOLDERS and rest:
                self.folder = str(PurePosixPath(folder, rest.pop(0)))
            elif word == "--":
                break
            elif word in ("--filter", "-F", "-w", "--workspace", "workspace") and rest:
                self.member = rest.pop(0)
            elif word in ("-r", "--recursive", "-ws", "--workspaces", "workspaces", "foreach", "recursive"):
                self.everywhere = True
                self.beside_root = self.beside_root or word in ("-ws", "--workspaces")
            elif word in _VERBS and not self.script:
                continue
            elif word.startswith("-"):
                if word in _VALUED and rest:
                    rest.pop(0)
            else:
                self.script = self.script or _SHORT.get(word, word)


def script_lines(
    tree: RepositoryTree, folder: str, words: Sequence[str]
) -> tuple[str, list[tuple[str, str]]] | None:
    """Return the name of the script that *words* after the package manager call, and its lines with their folders.

    None when no script is called, as by `npm install`, or when no `package.json` has the script.
    """
    called = Called(words, folder)
    if not called.script or called.script in OWN_COMMANDS:
        return None
    found = list(_found(tree, called))
    return (called.script, found) if found else None


def _found(tree: RepositoryTree, called: Called) -> Iterator[tuple[str, str]]:
    own = _scripts(tree, called.folder)
    if called.script in own and not called.member and not called.everywhere:
        yield from _with_hooks(own, called.script, called.folder)
        return
    if not called.everywhere and not called.member:
        return
    for path in _packages(tree):
        if called.beside_root and PurePosixPath(path).parent == PurePosixPath(called.folder):
            continue
        scripts = _scripts(tree, str(PurePosixPath(path).parent))
        if called.script in scripts and (not called.member or _is_member(tree, path, called.member)):
            yield from _with_hooks(scripts, called.script, str(PurePosixPath(path).parent))


def _with_hooks(scripts: Mapping[str, str], name: str, folder: str) -> Iterator[tuple[str, str]]:
    for wanted in (f"pre{name}", name, f"post{name}"):
        if wanted in scripts:
            yield folder, _expanded(scripts[wanted], scripts)


def _expanded(line: str, scripts: Mapping[str, str]) -> str:
    """Return *line* with what npm-run-all and its like run in the place of their patterns."""
    words = line.split()
    if not words or words[0].rpartition("/")[2] not in (
        "npm-run-all",
        "npm-run-all2",
        "run-s",
        "run-p",
        "concurrently",
    ):
        return line
    names = []
    for word in words[1:]:
        pattern = word.strip("\"'").removeprefix("npm:").removeprefix("npm run ")
        names += [name for name in scripts if fnmatch.fnmatch(name, pattern.replace("**", "*"))]
    return " && ".join(f"npm run {name}" for name in names if scripts[name] != line) or line


def _packages(tree: RepositoryTree) -> list[str]:
    found = [
        path for path in tree.paths() if PurePosixPath(path).name == "package.json" and "node_modules" not in path
    ]
    return sorted(found, key=lambda path: (path.count("/"), path))[:_MOST_PACKAGES]


def _is_member(tree: RepositoryTree, path: str, member: str) -> bool:
    folder = str(PurePosixPath(path).parent)
    wanted = member.removeprefix("./").strip("{}.").rstrip("/")
    return fnmatch.fnmatch(folder, wanted) or fnmatch.fnmatch(str(_package_json(tree, folder).get("name")), member)


def _scripts(tree: RepositoryTree, folder: str) -> dict[str, str]:
    document = _package_json(tree, folder)
    scripts = document.get("scripts")
    found = (
        {key: value for key, value in scripts.items() if isinstance(value, str)}
        if isinstance(scripts, dict)
        else {}
    )
    wired = document.get("wireit")
    for name, rule in wired.items() if isinstance(wired, dict) else ():
        if found.get(name) == "wireit" and isinstance(rule, dict) and isinstance(rule.get("command"), str):
            found[name] = rule["command"]
    return found


def _package_json(tree: RepositoryTree, folder: str) -> dict[str, object]:
    return json_of(text_of(tree, str(PurePosixPath(folder, "package.json"))))
