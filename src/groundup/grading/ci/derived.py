"""The workflow that act is given: the wanted job with one leg, what it needs, and nothing else.

Written as JSON, which is YAML, so that no two programs can disagree on how the original is to be read. Steps,
conditions, variables and defaults stay as they are.
"""

import json
from collections.abc import Collection

from pydantic import JsonValue

from groundup.grading.ci.matrix import Leg
from groundup.grading.ci.obstacles import never_runs
from groundup.grading.ci.workflow import Workflow, steps_of

RUNNER = "ubuntu-latest"
_KEPT = ("name", "env", "defaults", "permissions")
_DROPPED_OF_JOB = ("runs-on", "strategy", "environment", "concurrency", "timeout-minutes")


def derived_workflow(workflow: Workflow, job: str, leg: Leg, event: str) -> bytes:
    """Return the workflow to run."""
    document = {key: value for key, value in workflow.document.items() if key in _KEPT}
    jobs = {
        needed.id: _job(workflow, needed.id, leg if needed.id == job else None) for needed in workflow.needed(job)
    }
    return json.dumps(document | {"on": event, "jobs": jobs}, ensure_ascii=True).encode()


def _job(workflow: Workflow, name: str, leg: Leg | None) -> JsonValue:
    jobs = workflow.document["jobs"]
    assert isinstance(jobs, dict)
    original = jobs[name]
    assert isinstance(original, dict)
    job: dict[str, JsonValue] = _without(original, _DROPPED_OF_JOB)
    job["runs-on"] = RUNNER
    strategy = original.get("strategy")
    if leg:
        job["strategy"] = {"matrix": {"include": [leg]}}
    elif leg is None and strategy is not None:
        job["strategy"] = strategy
    job["steps"] = _steps(original.get("steps"), leg or {})
    return job


def _steps(value: JsonValue, leg: Leg) -> JsonValue:
    """Return the steps; of one that never runs, such as another system's, only that it is skipped.

    act looks for a step's action before it looks at the step's condition.
    """
    originals = value if isinstance(value, list) else []
    kept: list[JsonValue] = []
    for original, step in zip(originals, steps_of(originals), strict=True):
        skipped: dict[str, JsonValue] = {"name": step.title, "if": False, "run": "exit 1"}
        if step.id:
            skipped["id"] = step.id
        kept.append(skipped if never_runs(step, leg) else original)
    return kept


def _without(table: dict[str, JsonValue], keys: Collection[str]) -> dict[str, JsonValue]:
    return {key: value for key, value in table.items() if key not in keys}


def event_of(workflow: Workflow) -> str:
    """Return which event starts the workflow: a push where that does."""
    for event in ("push", "pull_request", "workflow_dispatch"):
        if event in workflow.events:
            return event
    return workflow.events[0] if workflow.events else "push"
