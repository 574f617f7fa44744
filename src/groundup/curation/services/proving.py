"""Proving a made task with its own grader: what passes the original, and who else gets points.

Tests that the original fails, or that a server which answers all alike passes, are left out. What is left must
pass three times in fresh starts, give nothing to an empty submission or such a server, and notice changes of the
original.
"""

import asyncio
from pathlib import Path

from groundup.curation.services.mutants import Mutant, mutants_of
from groundup.curation.services.references import DeploymentRoom, Say
from groundup.domain.errors import InfrastructureError, TaskError
from groundup.domain.records import Record
from groundup.domain.verdicts import Status
from groundup.settings import Settings
from groundup.suites.base import Graded
from groundup.suites.repogenesis.data import ServiceProblem
from groundup.suites.repogenesis.endpoints import path_shape
from groundup.suites.repogenesis.suite import RepoGenesis
from groundup.trees.writer import copy_tree

STUBS = (200, 404)
_STUB = """import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Stub(BaseHTTPRequestHandler):
    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response({status})
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{{}}")

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer


ThreadingHTTPServer(("0.0.0.0", {port}), Stub).serve_forever()
"""


class ProofRules(Record):
    """When a service counts as proven."""

    times: int = 3
    """That its original must pass."""
    mutants: int = 12
    """At most so many are tried."""
    killed: float = 0.5
    """The share of mutants that must lose a test at least."""
    least: int = 3
    """Hidden tests."""


class TriedMutant(Record):
    """What became of a mutant."""

    kind: str
    place: str
    told: str
    passed: int
    killed: bool


class Proof(Record):
    """The counts."""

    tests: int
    original: tuple[int, ...]
    """Tests passed in each fresh start."""
    deployed: tuple[bool, ...]
    nop: int
    stubs: dict[str, int]
    mutants: tuple[TriedMutant, ...]

    @property
    def killed(self) -> int:
        """How many mutants lost a test."""
        return sum(one.killed for one in self.mutants)


class Prover:
    """Grades submissions of one task."""

    def __init__(self, problem: ServiceProblem, settings: Settings, room: DeploymentRoom) -> None:
        self._problem = problem
        suite = RepoGenesis({problem.task.id: problem}, "set", settings)
        (self._task,) = suite.tasks()
        self._grader = suite.graders()[suite.default_grader]
        self._room = room

    async def grade(self, tree: Path) -> Graded:
        """Return the verdict on the service in *tree*. Raises `InfrastructureError` where there is none."""
        graded = await self._grader.grade(self._task, tree, self._room.next())
        if graded.verdict.status is Status.INFRASTRUCTURE:
            raise InfrastructureError(f"no verdict: {graded.verdict.reasons[0].message}")
        return graded

    async def passed(self, tree: Path) -> frozenset[str]:
        """Return the hidden tests that the service in *tree* passes."""
        return frozenset(one.id for one in (await self.grade(tree)).tests if one.outcome == "passed")

    async def stub(self, status: int) -> frozenset[str]:
        """Return the tests that a server passes which answers *status* to all."""
        folder = self._room.next().scratch / "stub"
        folder.mkdir()
        (folder / "server.py").write_text(_STUB.format(status=status, port=self._problem.task.port))
        (folder / "start.sh").write_text("exec python server.py\n")
        (folder / "requirements.txt").write_text("")
        return await self.passed(folder)

    async def prove(self, tree: Path, original: Path, rules: ProofRules, say: Say) -> Proof:
        """Return the counts of the original in *tree*, of worthless ones, and of mutants."""
        graded = [await self.grade(tree) for _ in range(rules.times)]
        nothing = self._room.next().scratch / "nothing"
        nothing.mkdir()
        nop = await self.passed(nothing)
        stubs = {str(status): len(await self.stub(status)) for status in STUBS}
        count = self._problem.task.tests.count
        places = asyncio.Semaphore(2)
        wanted = [(one.method, path_shape(one.path)) for one in self._problem.task.endpoints]

        async def tried(mutant: Mutant) -> TriedMutant:
            async with places:
                folder = await asyncio.to_thread(mutated, tree, mutant, self._room)
                passed = len(await self.passed(folder))
            place = f"{mutant.file}:{mutant.line}"
            say(f"mutant {mutant.kind} at {place}: {passed} of {count} ({mutant.told})")
            return TriedMutant(
                kind=mutant.kind, place=place, told=mutant.told, passed=passed, killed=passed < count
            )

        found = await asyncio.gather(*map(tried, mutants_of(original, wanted, rules.mutants)))
        return Proof(
            tests=count,
            original=tuple(int(one.verdict.score.numerator) if one.verdict.score else 0 for one in graded),
            deployed=tuple(one.verdict.complete is True for one in graded),
            nop=len(nop),
            stubs=stubs,
            mutants=tuple(found),
        )


def mutated(tree: Path, mutant: Mutant, room: DeploymentRoom) -> Path:
    """Return a copy of *tree* with *mutant* in it."""
    folder = room.next().scratch / "mutant"
    copy_tree(tree, folder)
    (folder / mutant.file).write_text(mutant.text, encoding="utf-8")
    return folder


def refuse_unproven(proof: Proof, rules: ProofRules) -> None:
    """Raise `TaskError` where *proof* is none."""
    tests = proof.tests
    if any(passed != tests for passed in proof.original):
        shown = ", ".join(map(str, proof.original))
        raise TaskError(f"the original passes {shown} of its {tests} tests in {len(proof.original)} fresh starts")
    if not all(proof.deployed):
        raise TaskError("the original passes its tests and does not count as deployed: it starts too slowly")
    free = max((proof.nop, *proof.stubs.values()))
    if free:
        raise TaskError(f"a stub passes {free} of {tests} tests")
    if len(proof.mutants) < 1:
        raise TaskError("no mutant could be made: its handlers are not found in the sources")
    if proof.killed < rules.killed * len(proof.mutants):
        raise TaskError(f"the tests notice {proof.killed} of {len(proof.mutants)} mutants")
