"""Actions that say what a push changed: here it changed everything, so no job is skipped for what they say.

A step that uses one becomes a script that gives the outputs which the action would give.
"""

import json
from collections.abc import Callable, Mapping

from pydantic import JsonValue

from groundup.grading.ci.actions import parse_uses
from groundup.workflows.tree import RepositoryTree
from groundup.workflows.workflow import WorkflowError, read_yaml

Outputs = dict[str, str]


def with_changes_known(document: JsonValue, tree: RepositoryTree) -> JsonValue:
    """Return a workflow's *document* in which scripts stand for the actions that look for changes."""
    jobs = document.get("jobs") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(jobs, dict):
        return document
    return document | {"jobs": {name: _job(job, tree) for name, job in jobs.items()}}


def _job(job: JsonValue, tree: RepositoryTree) -> JsonValue:
    steps = job.get("steps") if isinstance(job, dict) else None
    if not isinstance(job, dict) or not isinstance(steps, list):
        return job
    return job | {"steps": [_step(step, tree) for step in steps]}


def _step(step: JsonValue, tree: RepositoryTree) -> JsonValue:
    uses = step.get("uses") if isinstance(step, dict) else None
    action = parse_uses(uses) if isinstance(uses, str) else None
    outputs_of = _BY_NAME.get(action.name.lower()) if action else None
    if not isinstance(step, dict) or outputs_of is None:
        return step
    given = step.get("with")
    outputs = outputs_of(given if isinstance(given, dict) else {}, tree)
    lines = "".join(f"{name}={value}\n" for name, value in outputs.items())
    script = f"cat >> \"$GITHUB_OUTPUT\" <<'GROUNDUP'\n{lines}GROUNDUP\n"
    kept = {key: value for key, value in step.items() if key not in ("uses", "with")}
    return {"name": str(uses), **kept, "run": script, "shell": "bash"}


def _by_filters(given: Mapping[str, JsonValue], tree: RepositoryTree) -> Outputs:
    """Return the outputs of `dorny/paths-filter`: each filter's name, and their list."""
    names = list(_table(given.get("filters"), tree))
    return {**dict.fromkeys(names, "true"), "changes": json.dumps(names)}


def _by_patterns(given: Mapping[str, JsonValue], tree: RepositoryTree) -> Outputs:
    """Return the outputs of `tj-actions/changed-files`, whose names begin with those of its groups."""
    groups = [*_table(given.get("files_yaml"), tree), *_table(given.get("files_yaml_from_source_file"), tree)]
    found: Outputs = {}
    for prefix in ("", *(f"{group}_" for group in groups)):
        found |= {f"{prefix}{name}": "true" for name in ("any_changed", "any_modified")}
        found |= {f"{prefix}{name}": "false" for name in ("any_deleted", "only_deleted")}
    return found | {"changed_keys": " ".join(groups), "modified_keys": " ".join(groups)}


def _by_runs(given: Mapping[str, JsonValue], tree: RepositoryTree) -> Outputs:
    """Return the outputs of `fkirc/skip-duplicate-actions`: no run was before this one."""
    filters = _table(given.get("paths_filter"), tree)
    result = {name: {"should_skip": False} for name in filters}
    return {"should_skip": "false", "reason": "groundup", "paths_result": json.dumps(result)}


def _table(value: JsonValue, tree: RepositoryTree) -> Mapping[str, JsonValue]:
    """Return the groups that an input names: YAML, or the path of a file that holds it."""
    if not isinstance(value, str):
        return {}
    held = tree.read(value.strip().removeprefix("./")) if "\n" not in value.strip() else None
    try:
        found = read_yaml(held if held is not None else value.encode(), "filters")
    except WorkflowError:
        return {}
    return found if isinstance(found, dict) else {}


_KINDS: Mapping[str, Callable[[Mapping[str, JsonValue], RepositoryTree], Outputs]] = {
    "dorny/paths-filter": _by_filters,
    "AurorNZ/paths-filter": _by_filters,
    "tj-actions/changed-files": _by_patterns,
    "step-security/changed-files": _by_patterns,
    "fkirc/skip-duplicate-actions": _by_runs,
}
_BY_NAME = {name.lower(): outputs_of for name, outputs_of in _KINDS.items()}
