"""Tasks that a `pyproject.toml` or `hatch.toml` names: poe, pdm, hatch, uv's and pixi's."""

import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from groundup.curation.tree import Tree, text_of

_MOST = 200


def task_lines(tree: Tree, folder: str, name: str) -> list[str] | None:
    """Return what a task of poe, pdm, pixi or taskipy called *name* runs; None when there is none."""
    tool = _table(_document(tree, folder, "pyproject.toml"), "tool")
    for keys in (
        ("poe", "tasks"),
        ("pdm", "scripts"),
        ("pixi", "tasks"),
        ("taskipy", "tasks"),
        ("rye", "scripts"),
    ):
        tasks = _table(tool, *keys)
        if name in tasks:
            return _some(_lines(tasks, name, set()))
    return None


def hatch_lines(tree: Tree, folder: str, called: str, chosen: Sequence[str] = ()) -> list[str] | None:
    """Return what `hatch run CALLED` runs; *called* is `script` or `environment:script`.

    *chosen* may leave some of a matrix: `+type=default`, `-py=3.8`. What the matrix overrides for one that is left
    counts beside what the environment says itself.
    """
    environment, _, script = called.rpartition(":")
    environments = _table(_document(tree, folder, "hatch.toml"), "envs")
    if not environments:
        environments = _table(_document(tree, folder, "pyproject.toml"), "tool", "hatch", "envs")
    environment = environment.lstrip("+-").split(".")[0] or "default"
    scripts = {**_table(environments, "default", "scripts"), **_table(environments, environment, "scripts")}
    for override in _hatch_overrides(_table(environments, environment, "overrides"), chosen):
        for name, line in override.items():
            scripts[name] = [*_of(scripts.get(name)), line]
    return _some(_lines(scripts, script, set())) if script in scripts else None


def _hatch_overrides(overrides: Mapping[str, object], chosen: Sequence[str]) -> Iterator[Mapping[str, str]]:
    """Yield scripts that a matrix, a variable or a platform gives: `KEY=VALUE`, or tables of key and value."""
    for source, variables in overrides.items():
        for variable, options in variables.items() if isinstance(variables, Mapping) else ():
            for option in ("scripts", "set-scripts"):
                said = options.get(option) if isinstance(options, Mapping) else None
                for item in said if isinstance(said, list) else [said]:
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


def _lines(tasks: Mapping[str, object], name: str, done: set[str]) -> Iterator[str]:
    """Yield what a task runs, with the tasks that it names, each once."""
    done.add(name)
    for line in _of(tasks[name]):
        first = line.split()[0] if line.split() else ""
        if first in tasks and first not in done:
            yield from _lines(tasks, first, done)
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
                return _of(task[key])
    return []


def _document(tree: Tree, folder: str, name: str) -> Mapping[str, object]:
    text = text_of(tree, str(PurePosixPath(folder, name)))
    try:
        return tomllib.loads(text or "")
    except ValueError:
        return {}


def _table(document: object, *keys: str) -> Mapping[str, object]:
    for key in keys:
        document = document.get(key) if isinstance(document, Mapping) else None
    return document if isinstance(document, Mapping) else {}
