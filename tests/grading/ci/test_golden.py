"""Jobs of every kind as they are planned: what is tested, left out, needed and refused, and what act gets.

`python -m tests.grading.ci.test_golden` writes golden/plans.txt anew: read what changed, for it changes verdicts.
"""

import json
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from groundup.domain.errors import TaskError
from groundup.grading.ci.act_sandbox import derived_action, derived_workflow
from groundup.grading.ci.plan import PlannedJob
from groundup.grading.ci.records import JobRequest, UnsupportedJobError

HERE = Path(__file__).parent
GOLDEN = HERE / "golden" / "plans.txt"


def _told(plan: Mapping[str, Any], folder: Path) -> Iterator[str]:
    for path, text in {"ci.yml": plan["workflow"], **plan.get("files", {})}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    request = JobRequest(tree=folder, workflow="ci.yml", job="test", matrix=plan.get("leg", {}))
    try:
        planned = PlannedJob(request)
    except UnsupportedJobError as error:
        yield from (f"{one.kind}: {one.what}" for one in error.obstacles)
        return
    except TaskError as error:
        yield f"error: {error}"
        return
    needs = planned.needs
    yield f"started by {planned.workflow.started_by}, leg {planned.leg}, place {planned.place!r}"
    yield f"needs {planned.job.needs}, not {planned.left_out}"
    yield f"tests {sorted(planned.tests)}, silent {sorted(planned.test_steps.silent)}"
    yield f"later {planned.later}, stamps {planned.stamps}"
    yield f"actions {[f'{one.name}@{one.ref}' for one in needs.actions]}"
    yield f"own actions { {name: sorted(kept) for name, kept in needs.local_actions.items()} }"
    yield f"steps {[(one.step.key, one.action) for one in needs.steps]}"
    yield from (f"{name} {value!r}" for name, value in planned.tools)
    yield from (
        f"script {index}: {line}" for index, script in planned.scripts.items() for line in script.split("\n")
    )
    derived = json.loads(derived_workflow(planned.workflow, "test", planned.leg, planned.scripts))
    yield json.dumps(derived, indent=1)
    for own, kept in needs.local_actions.items():
        data = planned.tree.read(f"{own}/action.yml") or b""
        yield json.dumps(json.loads(derived_action(data, "action.yml", kept)))


def _all() -> str:
    plans = tomllib.loads((HERE / "planned.toml").read_text(encoding="utf-8"))["plan"]
    parts = []
    for plan in plans:
        with tempfile.TemporaryDirectory() as folder:
            parts.append("\n".join((f"##### {plan['name']}", *_told(plan, Path(folder)))))
    return "\n\n".join(parts) + "\n"


def test_jobs_are_planned_as_ever() -> None:
    """Each field of a plan, each obstacle's sentence, and the workflow that act runs."""
    assert _all() == GOLDEN.read_text(encoding="utf-8")


if __name__ == "__main__":
    GOLDEN.write_text(_all(), encoding="utf-8")
