"""A model's opinion on which job runs the tests: asked beside the rules, never in their place.

The model sees the workflow files and the jobs in them, not what the rules found. What it answers counts only where
it names a job that exists.
"""

import json
import re

from groundup.curation.locating import JobOpinion, Located, locate, read_workflows
from groundup.domain.conversations import ChatRequest, Message
from groundup.models.opening import open_model
from groundup.models.protocol import ChatModel
from groundup.models.settings import ModelSettings
from groundup.workflows.tree import RepositoryTree, text_of
from groundup.workflows.workflow import Workflow

_ASKED = """Below are the workflow files of a repository. Which job runs the project's own test suite, as it
would be run for every change? Prefer a job that runs the whole suite on Ubuntu over partial, integration,
end-to-end, nightly, coverage-only, lint, documentation and release jobs. A job may call a script, a build tool or
another workflow that runs the tests; then name the job that is started by a push or a pull request.

Answer with one JSON object and nothing else:
{"workflow": "<path of the file>", "job": "<id of the job>", "reason": "<one sentence>"}
If no job runs tests, give null for workflow and job.
"""
_MOST_CHARACTERS = 60_000
_LONGEST_FILE = 12_000
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)


async def located(tree: RepositoryTree, model: str | None = None, base_url: str | None = None) -> Located:
    """Return which job runs the tests by the rules, and what *model*, PROVIDER/MODEL, says. Runs nothing."""
    found = locate(tree)
    if model is None:
        return found
    async with open_model(model, ModelSettings(base_url=base_url)) as opened:
        return await ask_model(tree, found, opened)


async def ask_model(tree: RepositoryTree, found: Located, model: ChatModel) -> Located:
    """Return *found* with the model's opinion. Raises what the model raises."""
    workflows, _ = read_workflows(tree)
    request = ChatRequest(messages=(Message(role="user", content=_question(tree, workflows)),), temperature=0.0)
    reply = await model.complete(request)
    return found.model_copy(update={"opinion": _opinion(model.name, reply.message.content, workflows, found)})


def _question(tree: RepositoryTree, workflows: list[Workflow]) -> str:
    parts = [_ASKED]
    room = _MOST_CHARACTERS
    for workflow in sorted(workflows, key=lambda one: not set(one.events) & {"push", "pull_request"}):
        text = (text_of(tree, workflow.path) or "")[: min(_LONGEST_FILE, room)]
        room -= len(text)
        jobs = ", ".join(job.id for job in workflow.jobs)
        parts.append(f"=== {workflow.path} (jobs: {jobs})\n{text}")
        if room <= 0:
            break
    return "\n\n".join(parts)


def _opinion(name: str, answer: str, workflows: list[Workflow], found: Located) -> JobOpinion:
    """Read the answer; one that names no existing job is reported as such, and agrees with nothing."""
    named = _object(answer)
    workflow, job, reason = (_text(named.get(key)) for key in ("workflow", "job", "reason"))
    best = found.best
    if named and workflow is None and job is None:
        return JobOpinion(model=name, workflow=None, job=None, reason=reason or "", agrees=best is None)
    known = {(one.path, item.id) for one in workflows for item in one.jobs}
    place = next(
        ((path, item) for path, item in known if item == job and path.endswith((workflow or "").lstrip("./"))),
        None,
    )
    if place is None:
        wrong = f"it names no job that there is: {answer.strip()[:200]!r}"
        return JobOpinion(model=name, workflow=None, job=None, reason=wrong, agrees=False)
    agrees = best is not None and (best.workflow, best.job) == place
    return JobOpinion(model=name, workflow=place[0], job=place[1], reason=(reason or "")[:400], agrees=agrees)


def _object(answer: str) -> dict[str, object]:
    match = _OBJECT.search(answer)
    try:
        value = json.loads(match[0]) if match else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
