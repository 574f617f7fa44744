"""The event that starts a job here, and what `github` says of it: a fork's request, or a push to the main branch.

A request publishes least, so it comes first; the tests decide in the end (`jobs.JobReader.started`).
"""

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from groundup.workflows.workflow import Workflow

ACTOR: Final = "somebody"
_ORDER = ("pull_request", "push", "workflow_dispatch")
_USUAL_TYPES = frozenset({"opened", "synchronize", "reopened"})
_BRANCH = "main"
_FOREIGN_BRANCH = "change"


def events_of(workflow: Workflow) -> tuple[str, ...]:
    """Return the events that start *workflow*, the ones that publish least first."""
    first = [event for event in _ORDER if event in workflow.events and _is_usual(workflow, event)]
    return (*first, *(event for event in workflow.events if event not in first)) or ("push",)


def _is_usual(workflow: Workflow, event: str) -> bool:
    """Whether opening a request, or a push to a branch, starts it: not only closing one, or a tag."""
    on = workflow.document.get("on")
    given = on.get(event) if isinstance(on, dict) else None
    if not isinstance(given, dict):
        return True
    types = given.get("types")
    if event == "push":
        return "branches" in given or "tags" not in given
    return types is None or bool(_USUAL_TYPES & set(map(str, types if isinstance(types, list) else [types])))


def github_of(event: str) -> dict[str, JsonValue]:
    """Return what of the context `github` is known when *event* starts a workflow here."""
    known: dict[str, JsonValue] = {"event_name": event, "workspace": ".", "actor": ACTOR}
    if event == "push":
        known |= {"ref": f"refs/heads/{_BRANCH}", "ref_name": _BRANCH, "base_ref": "", "head_ref": ""}
        known["ref_type"] = "branch"
    if event == "pull_request":
        known |= {"ref": "refs/pull/1/merge", "ref_name": "1/merge", "base_ref": _BRANCH}
        known |= {"head_ref": _FOREIGN_BRANCH, "ref_type": "branch", "event": payload_of(event)}
    return known


def payload_of(event: str, full_name: str | None = None) -> dict[str, JsonValue]:
    """Return what GitHub would say of *event*; *full_name* is `owner/name`, and what is not known is left out."""
    owner, _, name = (full_name or "").rpartition("/")
    named: dict[str, JsonValue] = {"full_name": full_name, "name": name, "owner": {"login": owner}}
    repository: dict[str, JsonValue] = {"default_branch": _BRANCH, "fork": False, "private": False}
    repository |= named if full_name else {}
    sender: Mapping[str, JsonValue] = {"login": ACTOR, "type": "User"}
    payload: dict[str, JsonValue] = {"repository": repository, "sender": dict(sender)}
    if event == "pull_request":
        fork: dict[str, JsonValue] = {"fork": True, "default_branch": _BRANCH}
        fork |= {"full_name": f"{ACTOR}/{name}", "name": name, "owner": dict(sender)} if full_name else {}
        payload |= {"action": "opened", "number": 1}
        payload["pull_request"] = {
            "number": 1, "draft": False, "state": "open", "merged": False, "labels": [], "user": dict(sender),
            "head": {"ref": _FOREIGN_BRANCH, "repo": fork, "label": f"{ACTOR}:{_FOREIGN_BRANCH}"},
            "base": {"ref": _BRANCH, "repo": repository},
        }  # fmt: skip
    elif event == "push":
        payload |= {"ref": f"refs/heads/{_BRANCH}", "head_commit": {"message": "", "author": dict(sender)}}
    return payload
