"""Opening an attempt's sandbox as it was, for a person to look around."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from groundup.domain.errors import UsageError
from groundup.domain.names import unknown
from groundup.domain.subjects import AttemptKey
from groundup.episodes.backends import backends
from groundup.runs.leftovers import SHELLS
from groundup.runs.plan import make_plan
from groundup.sandbox.protocol import SandboxProvider, SandboxSpec
from groundup.settings import Settings
from groundup.store.folder import Hold, RunFolder
from groundup.suites.base import AtHand
from groundup.trees.walking import remove_tree
from groundup.trees.writer import copy_tree, in_thread


@dataclass(frozen=True)
class AttemptSandbox:
    """An attempt's sandbox, ready to be opened."""

    provider: SandboxProvider
    spec: SandboxSpec


@asynccontextmanager
async def attempt_sandbox(folder: Path, attempt: AttemptKey, settings: Settings) -> AsyncIterator[AttemptSandbox]:
    """Yield what `groundup shell` opens: a copy of the submission in its task's environment, later removed."""
    run = RunFolder(folder)
    config = run.config()
    if attempt.task not in config.planned.tasks:
        raise UsageError(unknown("task", attempt.task, config.planned.tasks))
    found = run.attempt(attempt)
    if found.record() is None:
        raise UsageError(f"the run {config.run_id!r} has no submission for {attempt}; see `groundup report`")
    # The tools and the task are today's; only the submission is as it was.
    plan = make_plan(config.configuration, settings)
    if attempt.task not in plan.tasks:
        raise UsageError(
            f"{attempt.task} cannot be graded with what is at hand now; see `groundup tasks {plan.suite.name}`"
        )
    copy = settings.cache_dir / SHELLS / secrets.token_hex(8)
    copy.mkdir(parents=True)
    hold = Hold(copy)
    try:
        workspace = copy / "workspace"
        await in_thread(copy_tree, found.submission, workspace)
        (copy / "scratch").mkdir()
        async with backends(config.configuration.sandbox, settings, run.lock().images) as opened:
            task = plan.tasks[attempt.task]
            tools = await opened.of(task, AtHand.of(plan.suite).published_image(task))
            context = tools.context(copy / "scratch", config.configuration.timeout_s)
            yield AttemptSandbox(tools.provider, await plan.grader.sandbox_spec(task, workspace, context))
    finally:
        hold.close()
        remove_tree(copy)
