"""An audit of a suite's tasks: runs of oracle and worthless submissions in one folder, and what follows from them.

Every part is a run like others: `groundup runs` lists it, and a second start of the audit finishes the rest.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from groundup.api import requests
from groundup.api.flags import AnyPath, Names, names
from groundup.api.runs import finished
from groundup.domain.errors import InfrastructureError, TaskError, UsageError
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Graded
from groundup.domain.version import __version__
from groundup.episodes.backends import Backends, backends
from groundup.runs.api import NewRun, Request
from groundup.runs.progress import Progress
from groundup.settings import Settings, load
from groundup.store.folder import RunFolder
from groundup.store.ownership import refuse_full, refuse_others, write_made
from groundup.suites.base import AtHand, Auditor, Suite
from groundup.suites.opening import open_suite
from groundup.suites.selection import groups_of, members, refuse_unknown
from groundup.trees.scratch import scratch_folder
from groundup.trees.writer import copy_tree, in_thread
from groundup_factory.audit_findings import (
    NOP,
    ORACLE,
    Audit,
    TaskAudit,
    TaskFacts,
    judged,
    page,
    read_hidden_tests,
)
from groundup_factory.auditors import auditor_of

JSON, PAGE = "audit.json", "audit.md"
Say = Callable[[str], None]


def audit(  # noqa: PLR0913 - all but the suite by name
    suite: str,
    *,
    tasks: Names = None,
    runs: int = 3,
    submissions: AnyPath | None = None,
    grader: str | None = None,
    output: AnyPath | None = None,
    settings: Settings | None = None,
    progress: Progress | None = None,
    say: Say = lambda text: None,
) -> Audit:
    """Find out what scores of *suite* are worth, as `groundup audit` does.

    The oracle is graded *runs* times; *submissions* is a folder with a folder of predictions for each further
    submission, such as cheats. *grader*: its name; None: the suite's first. Everything lies in *output* (default:
    `audit-SUITE` in the output folder), with `audit.json` and `audit.md`; called again, it finishes the rest.
    Blocks. Raises `UsageError`.
    """
    found = settings or load()
    opened = open_suite(suite, found)
    chosen = _chosen(opened, names(tasks, "--tasks"))
    named = f"{opened.name}{''.join(suite.partition('@')[1:])}"
    folder = Path(output) if output else found.output / f"audit-{named.replace('@', '-')}"
    if not folder.is_dir():
        refuse_full(folder)
    for name in (JSON, PAGE):
        refuse_others(folder / name)
    work = _Work(opened, named, chosen, grader, folder, found, progress, say)
    brought = _brought(submissions)
    running = partial(requests.running, suite, grader=grader)
    work.run(ORACLE, partial(running, ORACLE, attempts=runs, no_cache=True))
    work.run(NOP, partial(running, NOP))
    controls = asyncio.run(work.write_controls())
    for name, place in {**controls, **brought}.items():
        work.run(name, partial(requests.evaluation, suite, place, grader=grader))
    facts = asyncio.run(work.facts())
    made = work.result(facts, [NOP, *controls, *brought])
    write_made(folder / JSON, made.model_dump_json(indent=1).encode() + b"\n")
    write_made(folder / PAGE, page(made).encode())
    return made


def _chosen(suite: Suite, wanted: Sequence[str] | None) -> list[Task]:
    """Return the tasks to audit: those that are wanted, else all that can be graded and have an oracle."""
    every = suite.by_name()
    usual = set(AtHand.of(suite).gradable()) & set(AtHand.of(suite).referenced())
    if wanted is None:
        return [every[name] for name in every if name in usual]
    refuse_unknown(suite, wanted)
    named = usual.intersection(members(wanted, every, groups_of(suite)))
    ids = named.union(every.keys() & set(wanted))
    return [every[name] for name in sorted(ids)]


def _brought(submissions: AnyPath | None) -> dict[str, Path]:
    """Return folders of predictions by the names of what handed them in."""
    if submissions is None:
        return {}
    root = Path(submissions)
    if not root.is_dir():
        raise UsageError(f"{root} is not a folder; it needs a folder of predictions for each submission")
    return {place.name: place for place in sorted(root.iterdir()) if place.is_dir()}


@dataclass(frozen=True)
class _Work:
    """One audit while it is worked on."""

    suite: Suite
    named: str
    """The suite with the name of its data set."""
    tasks: Sequence[Task]
    grader: str | None
    folder: Path
    settings: Settings
    progress: Progress | None
    say: Say

    def run(self, name: str, request: Callable[..., NewRun]) -> None:
        """Run, or finish, the part *name*; what it owes in the end is the report's to say."""
        place = self.folder / name
        if (place / "config.json").is_file():
            config = RunFolder(place).config()
            planned = {key.task for key in config.planned.keys}
            if self.grader not in (None, config.configuration.grader):
                raise UsageError(f"{place} has another grader; name another folder with --to, or remove it")
            if not planned >= {task.id for task in self.tasks if name == ORACLE}:
                raise UsageError(f"{place} has other tasks; name another folder with --to, or remove it")
            asked: Request = requests.resumption(place, settings=self.settings)
        else:
            tasks = [task.id for task in self.tasks]
            asked = request(tasks=tasks, output=self.folder, run_id=name, settings=self.settings)
        ended = finished(asked, self.progress)
        if ended.interrupted:
            raise KeyboardInterrupt

    async def write_controls(self) -> dict[str, Path]:
        """Write what the suite's auditor hands in for each task; return folders of predictions by name."""
        auditor = auditor_of(self.suite)
        places = {name: self.folder / "submissions" / name for name in auditor.controls}
        async with backends(self.settings.sandbox, self.settings) as tools:
            for name, place in places.items():
                for task in self.tasks:
                    await self._write(auditor, name, task, place / task.id, tools)
        return {name: place for name, place in places.items() if place.is_dir() and any(place.iterdir())}

    async def _write(self, auditor: Auditor, name: str, task: Task, place: Path, tools: Backends) -> None:
        if place.is_dir():
            return
        with scratch_folder("audit") as scratch:
            made = scratch / "made"
            made.mkdir()
            try:
                if not await auditor.write(name, task, made, tools.context(scratch, None)):
                    return
            except (TaskError, InfrastructureError) as error:
                self.say(f"{task.id}: no {name}: {error}")
                return
            place.parent.mkdir(parents=True, exist_ok=True)
            await in_thread(copy_tree, made, place)

    async def facts(self) -> dict[str, TaskFacts]:
        """Return what can be known of each task without running it."""
        auditor = auditor_of(self.suite)
        found = {}
        async with backends(self.settings.sandbox, self.settings) as tools:
            for number, task in enumerate(self.tasks, 1):
                self.say(f"reading {task.id} ({number} of {len(self.tasks)})")
                with scratch_folder("audit") as scratch:
                    found[task.id] = await _facts(auditor, task, tools, scratch)
        return found

    def result(self, facts: Mapping[str, TaskFacts], others: Collection[str]) -> Audit:
        """Return what all runs and texts together say."""
        oracle = self._graded(ORACLE)
        parts = {name: self._graded(name) for name in others}
        grader = RunFolder(self.folder / ORACLE).config().configuration.grader or self.suite.default_grader
        audited: list[TaskAudit] = []
        for task in self.tasks:
            mine = {name: graded[task.id][0] for name, graded in parts.items() if graded.get(task.id)}
            references = [one for one in oracle.get(task.id, []) if one is not None]
            audited.append(judged(facts[task.id], references, mine, worthless=(NOP,)))
        return Audit(suite=self.named, grader=grader, groundup=__version__, tasks=tuple(audited))

    def _graded(self, name: str) -> dict[str, list[Graded | None]]:
        """Return the attempts of a run at each task; None: nothing was handed in."""
        run = RunFolder(self.folder / name)
        found: dict[str, list[Graded | None]] = {}
        for key, line in sorted(run.latest().items(), key=lambda item: (item[0].task, item[0].index)):
            tests = run.attempt(key).tests()
            graded = None if line.verdict is None else Graded(verdict=line.verdict, tests=tests)
            found.setdefault(key.task, []).append(graded)
        return found


async def _facts(auditor: Auditor, task: Task, tools: Backends, scratch: Path) -> TaskFacts:
    unread = []
    readings = None
    answers: tuple[str, ...] = ()
    context = tools.context(scratch, None)
    try:
        code = await auditor.hidden(task, context)
        readings = None if code is None else await asyncio.to_thread(read_hidden_tests, code)
        answers = tuple(await auditor.answers(task, context))
    except (TaskError, InfrastructureError) as error:
        unread.append(str(error))
    declared = dict(auditor.declared(task))
    return TaskFacts(task=task.id, declared=declared, readings=readings, answers=answers, unread=tuple(unread))
