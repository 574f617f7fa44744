"""The workflow that act is given: the wanted job with one leg, what it needs, and nothing else.

Written as JSON, which is YAML, so that no two programs can disagree on how the original is to be read. Steps,
conditions and variables stay as they are.
"""

import json
import re
from collections.abc import Mapping

from pydantic import JsonValue

from groundup.grading.ci.matrix import Leg
from groundup.grading.ci.obstacles import never_runs
from groundup.grading.ci.place import FOLDER_VARIABLE
from groundup.grading.ci.workflow import Job, Workflow, WorkflowError, read_yaml, steps_of

RUNNER = "ubuntu-latest"
_KEPT = ("name", "env", "defaults", "permissions")
_DROPPED_OF_JOB = ("runs-on", "strategy", "environment", "concurrency", "timeout-minutes")


def derived_workflow(workflow: Workflow, job: str, leg: Leg, event: str) -> bytes:
    """Return the workflow to run."""
    document = {key: value for key, value in workflow.document.items() if key in _KEPT}
    jobs = {
        needed.id: _job(workflow, needed, leg if needed.id == job else None) for needed in workflow.needed(job)
    }
    return _as_yaml(_without_folder(document) | {"on": event, "jobs": jobs})


def derived_action(data: bytes, path: str) -> bytes:
    """Return one of the repository's own composite actions as act is given it. Raises `WorkflowError`."""
    document = read_yaml(data, path)
    runs = document.get("runs") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(runs, dict):
        raise WorkflowError(f"{path}: an action has a mapping `runs`; this file has none")
    steps = runs.get("steps")
    placed: JsonValue = [_placed(step, None) for step in steps] if isinstance(steps, list) else []
    return _as_yaml(document | {"runs": runs | {"steps": placed}})


def _job(workflow: Workflow, job: Job, leg: Leg | None) -> JsonValue:
    jobs = workflow.document["jobs"]
    assert isinstance(jobs, dict)
    original = jobs[job.id]
    assert isinstance(original, dict)
    derived = _without_folder({key: value for key, value in original.items() if key not in _DROPPED_OF_JOB})
    derived["runs-on"] = RUNNER
    if leg:
        derived["strategy"] = {"matrix": {"include": [leg]}}
    elif leg is None and "strategy" in original:
        derived["strategy"] = original["strategy"]
    derived["steps"] = _steps(original.get("steps"), leg or {}, job.working_directory)
    return derived


def _steps(value: JsonValue, leg: Leg, folder: str | None) -> JsonValue:
    """Return the steps; of one that never runs, such as another system's, only that it is skipped.

    act looks for a step's action before it looks at the step's condition.
    """
    originals = value if isinstance(value, list) else []
    kept: list[JsonValue] = []
    for original, step in zip(originals, steps_of(originals), strict=True):
        skipped: dict[str, JsonValue] = {"name": step.title, "if": False, "run": "exit 1"}
        if step.id:
            skipped["id"] = step.id
        kept.append(skipped if never_runs(step, leg) else _placed(original, folder))
    return kept


def _placed(step: JsonValue, folder: str | None) -> JsonValue:
    """Return a step with its working directory as a variable: act would look for it among its own files."""
    if not isinstance(step, dict) or "run" not in step:
        return step
    wanted = step.get("working-directory", folder)
    if wanted is None:
        return step
    own = step.get("env")
    rest = {key: value for key, value in step.items() if key != "working-directory"}
    return rest | {"env": (own if isinstance(own, dict) else {}) | {FOLDER_VARIABLE: wanted}}


def _without_folder(table: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a workflow or job without the default of its steps' working directory."""
    defaults = table.get("defaults")
    run = defaults.get("run") if isinstance(defaults, dict) else None
    if not isinstance(defaults, dict) or not isinstance(run, dict):
        return dict(table)
    kept: JsonValue = {key: value for key, value in run.items() if key != "working-directory"}
    return table | {"defaults": defaults | {"run": kept}}


def event_of(workflow: Workflow) -> str:
    """Return which event starts the workflow: a push where that does."""
    for event in ("push", "pull_request", "workflow_dispatch"):
        if event in workflow.events:
            return event
    return workflow.events[0] if workflow.events else "push"


def _as_yaml(document: Mapping[str, JsonValue]) -> bytes:
    """Return *document* as JSON that is YAML too: which writes characters beyond U+FFFF as one escape, not two."""

    def one(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]
        pair = bytes.fromhex(match[1] + match[2])
        return f"\\U{ord(pair.decode('utf-16-be')):08x}"

    text = json.dumps(document, ensure_ascii=True)
    return re.sub(r"\\\\|\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", one, text).encode()
