"""Scripts of `package.json`: what `npm test`, `yarn x`, `pnpm -r run y` or `nr z` run."""

import fnmatch
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from groundup.workflows.tree import RepositoryTree, text_of

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
_MOST = 40


class Called:
    """Which script a command line names, and where."""

    def __init__(self, words: Sequence[str], folder: str) -> None:
        self.script = ""
        self.folder = folder
        self.everywhere = False
        self.member = ""
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if word in _FOLDERS and rest:
                self.folder = str(PurePosixPath(folder, rest.pop(0)))
            elif word == "--":
                break
            elif word in ("--filter", "-F", "-w", "--workspace", "workspace") and rest:
                self.member = rest.pop(0)
            elif word in ("-r", "--recursive", "-ws", "--workspaces", "workspaces", "foreach", "recursive"):
                self.everywhere = True
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
    return sorted(found, key=lambda path: (path.count("/"), path))[:_MOST]


def _is_member(tree: RepositoryTree, path: str, member: str) -> bool:
    folder = str(PurePosixPath(path).parent)
    wanted = member.removeprefix("./").strip("{}.").rstrip("/")
    return fnmatch.fnmatch(folder, wanted) or fnmatch.fnmatch(str(_document(tree, folder).get("name")), member)


def _scripts(tree: RepositoryTree, folder: str) -> dict[str, str]:
    document = _document(tree, folder)
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


def _document(tree: RepositoryTree, folder: str) -> dict[str, object]:
    text = text_of(tree, str(PurePosixPath(folder, "package.json")))
    try:
        document = json.loads(text or "")
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
