"""Workflows of other repositories that jobs call: fetched at the commit that their reference names now."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from groundup.domain.errors import NetworkError, TaskError
from groundup.environments.git import GitRepository, addresses_of
from groundup.workflows.workflow import Workflow

_CALLED = re.compile(r"([\w.-]+/[\w.-]+)/(\.github/workflows/[\w./-]+\.ya?ml)@(\S+)")
_MOST = 8


class ForeignWorkflow(NamedTuple):
    """A workflow file of another repository."""

    data: bytes
    commit: str


async def foreign_workflows(
    workflows: Iterable[Workflow], work: Path, mirror: str | None
) -> Mapping[str, ForeignWorkflow]:
    """Return the called workflows of other repositories, by what `uses` says; without those that cannot be had."""
    called = dict.fromkeys(job.reusable for one in workflows for job in one.jobs if job.reusable)
    found: dict[str, ForeignWorkflow] = {}
    for number, uses in enumerate(list(called)[:_MOST]):
        match = _CALLED.fullmatch(uses)
        if match is None:
            continue
        one = await _fetched(match, GitRepository(work / f"called-{number}.git"), mirror)
        if one is not None:
            found[uses] = one
    return found


async def _fetched(match: re.Match[str], ours: GitRepository, mirror: str | None) -> ForeignWorkflow | None:
    repository, path, ref = match.groups()
    await ours.create()
    try:
        await ours.fetch(addresses_of(f"github.com/{repository}", mirror), None)
    except (NetworkError, TaskError):
        return None
    commit = await ours.resolve(ref)
    shown = await ours.run("show", f"{commit}:{path}") if commit else None
    return ForeignWorkflow(shown.stdout, commit) if commit and shown and shown.ok else None
