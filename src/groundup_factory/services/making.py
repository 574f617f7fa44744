"""From an original to a task of a service: start it, explore it, record it, write it down, and prove it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from pathlib import Path

from groundup.domain.errors import TaskError
from groundup.domain.records import Record
from groundup.grading.context import GradingContext
from groundup.settings import Settings
from groundup.suites.repogenesis.endpoints import path_shape
from groundup.suites.repogenesis.tasks import PYTHON, README, TASK_FILE, read_task_folder
from groundup.trees.walking import read_regular
from groundup.trees.writer import in_thread
from groundup_factory.services.exploring import Explorer, ServiceAnswer, read_answer
from groundup_factory.services.handlers import Sources, merged
from groundup_factory.services.operations import PLACES, Operation, read_openapi
from groundup_factory.services.proving import (
    STUBS,
    Mutant,
    Proof,
    ProofRules,
    Prover,
    mutants_of,
    refuse_unproven,
)
from groundup_factory.services.recording import STARTS, Recorded, kept, planned, play
from groundup_factory.services.references import (
    DeploymentRoom,
    Say,
    StartedOriginal,
    find_reference,
    limits_of,
    running,
)
from groundup_factory.services.scenarios import written_accounts
from groundup_factory.services.specification import extracted
from groundup_factory.services.test_files import FILE, VARIABLE, Stated, test_file
from groundup_factory.set_entries import EntryWalk

_AIDS = ("/openapi", "/swagger", "/docs", "/redoc", "/apispec", "/static", "/flasgger", "/metrics", "/favicon")
_ROUNDS = 20


class MadeService(Record):
    """A task and its reference, in folders of the moment."""

    id: str
    folder: Path
    reference: StartedOriginal
    tests: int
    left_out: int
    proof: Proof


class OriginalService(Record):
    """What a task is made of."""

    id: str
    tree: Path
    moment: str | None
    canary: str


async def make_service(
    original: OriginalService,
    work: Path,
    rules: ProofRules,
    walk: EntryWalk,
    context: GradingContext,
    settings: Settings,
) -> MadeService:
    """Return the task that *original* becomes, proven, below *work*. Raises `TaskError` where it is none."""
    room = DeploymentRoom(context)
    walk.at("started")
    reference = await find_reference(original.tree, original.moment, work, room, walk.say)
    walk.at("explored")
    explorer = await _explored(reference, room)
    working = [one.call.operation for one in explorer.working.values()]
    walk.say(f"{len(working)} of {len(explorer.statuses)} operations work: {_listed(working)}")
    for name, status in explorer.statuses.items():
        if name not in explorer.working:
            walk.say(f"  {name} was answered {status}")
    if not working:
        raise TaskError(f"none of its {len(explorer.statuses)} operations was answered with success")
    walk.at("recorded")
    recorded = await _recorded(explorer, reference, room)
    walk.say(f"{len(recorded)} scenarios are answered alike in {STARTS} fresh starts")
    walk.at("proven")
    writer = _TaskWriter(original, reference, working, work / "task" / original.id)
    stated = await asyncio.to_thread(writer.specify, recorded)

    numbers = count()

    async def prover_of(some: Sequence[Recorded], by: _TaskWriter = writer) -> Prover:
        return Prover(read_task_folder(await in_thread(by.write, some, stated)), settings, room)

    async def passed(some: Sequence[Recorded]) -> frozenset[str]:
        return await (await prover_of(some)).passed(reference.tree) if some else frozenset()

    free = await _free(await prover_of(recorded)) if recorded else {}
    for name, why in sorted(free.items()):
        walk.say(f"left out: {name} ({why})")
    left = await winnowed([one for one in recorded if one.test not in free], passed, walk.say)
    if len(left) < rules.least:
        raise TaskError(f"{len(left)} tests are left, and a task needs {rules.least}")
    wanted = [(one.method, path_shape(one.path)) for one in working]
    mutants = await asyncio.to_thread(mutants_of, original.tree, wanted, rules.mutants, reference.program)

    async def asking(mutant: Mutant) -> tuple[Prover, int]:
        some = [one for one in left if one.asks_for(mutant.concerns)] or left
        return await prover_of(some, writer.of_part(work / f"part-{next(numbers)}")), len(some)

    proof = await (await prover_of(left)).prove(reference.tree, rules, mutants, asking, walk.say)
    (walk.evidence / "proof.json").write_text(proof.model_dump_json(indent=1) + "\n")
    walk.say(
        f"original {', '.join(map(str, proof.original))} of {proof.tests}, nop {proof.nop}, stubs {proof.stubs}, "
        f"{proof.killed} of {len(proof.mutants)} mutants noticed"
    )
    refuse_unproven(proof, rules)
    return MadeService(
        id=original.id,
        folder=writer.folder,
        reference=reference,
        tests=len(left),
        left_out=len(recorded) - len(left),
        proof=proof,
    )


async def _explored(reference: StartedOriginal, room: DeploymentRoom) -> Explorer:
    sources = await asyncio.to_thread(Sources, reference.tree, reference.program)
    async with running(reference.tree, reference.port, limits_of(reference.python), room) as (pod, readiness):
        _must_answer(readiness.answered_s)
        told: tuple[Operation, ...] = ()
        for place in (*(one.path for one in sources.routes if one.path.endswith(".json")), *PLACES):
            reply = await pod.caller.get(place)
            told = read_openapi(read_answer(reply).read) if reply is not None and reply.status == 200 else ()
            if told:
                break
        every = merged(told or sources.told, sources.operations())
        offered = [
            one for one in every if not one.path.startswith(_AIDS) and one.method not in ("HEAD", "OPTIONS")
        ]
        explorer = Explorer(pod.caller, offered, await asyncio.to_thread(written_accounts, reference.tree))
        await explorer.explore()
        return explorer


async def _recorded(explorer: Explorer, reference: StartedOriginal, room: DeploymentRoom) -> tuple[Recorded, ...]:
    scenarios = planned(explorer.working)
    starts: list[dict[str, tuple[ServiceAnswer, ...]]] = []
    for number in range(STARTS):
        order = scenarios if number < STARTS - 1 else scenarios[::-1]
        async with running(reference.tree, reference.port, limits_of(reference.python), room) as (pod, readiness):
            _must_answer(readiness.answered_s)
            starts.append(await play(pod.caller, order))
    return kept(scenarios, starts)


def _must_answer(answered_s: float | None) -> None:
    if answered_s is None:
        raise TaskError("it started once, and does not answer now")


async def _free(prover: Prover) -> dict[str, str]:
    """Return the tests that a server passes which answers all alike, with the reason."""
    found: dict[str, str] = {}
    for status in STUBS:
        for name in await prover.stub(status):
            found.setdefault(name.rpartition("::")[2], f"a server passes it that answers {status} to all")
    return found


async def winnowed(
    recorded: Sequence[Recorded], passed: Callable[[Sequence[Recorded]], Awaitable[frozenset[str]]], say: Say
) -> list[Recorded]:
    """Return the scenarios whose tests the original passes beside one another; each may have leant on another."""
    left = list(recorded)
    for _ in range(_ROUNDS):
        names = {name.rpartition("::")[2] for name in await passed(left)}
        lost = [one.test for one in left if one.test not in names]
        if not lost:
            break
        say(f"left out: {', '.join(lost)} (the original does not pass it)")
        left = [one for one in left if one.test in names]
    return left


class _TaskWriter:
    """Writes the folder of a task."""

    def __init__(
        self, original: OriginalService, reference: StartedOriginal, operations: Sequence[Operation], folder: Path
    ) -> None:
        self.folder = folder
        self._original = original
        self._reference = reference
        self._operations = operations

    def of_part(self, folder: Path) -> "_TaskWriter":
        """Return what writes the same task, with a part of its tests, below *folder*."""
        place = folder / self.folder.name
        return _TaskWriter(self._original, self._reference, self._operations, place)

    def specify(self, recorded: Sequence[Recorded]) -> str:
        name = self._original.id.partition("@")[0].rpartition("__")[2]
        readme = next(iter(sorted(self._original.tree.glob("README*"))), None)
        text = "" if readme is None or not readme.is_file() else read_regular(readme).decode("utf-8", "replace")
        return extracted(name, self._original.canary, self._reference.port, text, self._operations, recorded)

    def write(self, recorded: Sequence[Recorded], specification: str) -> Path:
        """Write the task with these tests, and return its folder."""
        (self.folder / "tests").mkdir(parents=True, exist_ok=True)
        text = test_file(self._original.id, self._reference.port, recorded, Stated(specification))
        (self.folder / README).write_text(specification, encoding="utf-8")
        (self.folder / "tests" / FILE).write_text(text, encoding="utf-8")
        (self.folder / TASK_FILE).write_text(self._record(len(recorded)), encoding="utf-8")
        return self.folder

    def _record(self, count: int) -> str:
        python = self._reference.python
        endpoints = ",\n".join(f'    "{one}"' for one in dict.fromkeys(map(str, self._operations)))
        return (
            f'format = 1\nid = "{self._original.id}"\nlanguage = "python"\nkind = "http"\n'
            f"port = {self._reference.port}\n"
            + f'python = "{python}"\n'
            * (python != PYTHON)
            + f'endpoints = [\n{endpoints},\n]\n\n[tests]\ncount = {count}\nrequirements = ["requests"]\n\n'
            f'[base_url]\nvariable = "{VARIABLE}"\n'
        )


def _listed(operations: Sequence[Operation]) -> str:
    return ", ".join(map(str, operations[:12])) + (", ..." if len(operations) > 12 else "")
