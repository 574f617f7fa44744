"""Proving a made task with its own grader: what passes the original, and who else gets points.

Tests that the original fails, or that a server which answers all alike passes, are left out. What is left must
pass three times in fresh starts, give nothing to an empty submission or such a server, and notice changes of the
original: small ones, of statuses, routes, fields, values and conditions, made in a function that answers a route,
by the place of a node in the text.
"""

import ast
import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from groundup.domain.errors import InfrastructureError, TaskError
from groundup.domain.records import Record
from groundup.domain.verdicts import Status
from groundup.grammars import python_tree
from groundup.settings import Settings
from groundup.suites.base import Graded
from groundup.suites.repogenesis.endpoints import path_shape
from groundup.suites.repogenesis.suite import RepoGenesis
from groundup.suites.repogenesis.tasks import ServiceProblem
from groundup.trees.writer import copy_tree
from groundup_factory.services.handlers import Function, Sources
from groundup_factory.services.references import DeploymentRoom, Say
from groundup_factory.services.routes.paths import Route

MutantKind = Literal["route", "status", "field", "value", "condition"]
KINDS: tuple[MutantKind, ...] = ("route", "status", "field", "value", "condition")
_GONE = "/zq-gone"


class Mutant(NamedTuple):
    """One change."""

    kind: MutantKind
    file: str
    line: int
    told: str
    text: str
    """Of the whole file, changed."""
    method: str
    """Of the route whose handler it is in; `*`: all."""
    path: str
    """The shape of that route's path."""

    def concerns(self, method: str, path: str) -> bool:
        """Whether it may change what an operation answers."""
        return self.method in (method, "*") and _bare(self.path) == _bare(path_shape(path))


class _Change(NamedTuple):
    kind: MutantKind
    node: ast.expr
    text: str


def mutants_of(
    root: Path, wanted: Sequence[tuple[str, str]], most: int, program: frozenset[str] = frozenset()
) -> tuple[Mutant, ...]:
    """Return at most *most* mutants of handlers of the routes *wanted* (method and shape of path).

    The kinds take turns, and the same sources give the same ones. The sources are those below *root*, of *program*
    where it has routes.
    """
    sources = Sources(root, program)
    found: dict[MutantKind, list[Mutant]] = {kind: [] for kind in KINDS}
    for route in sources.routes:
        handler = sources.handler(route)
        tree = sources.trees.get(route.file)
        if handler is None or tree is None or not _is_wanted(route.method, route.path, wanted):
            continue
        files = {route.file, handler.file}
        texts = {file: (root / file).read_text(encoding="utf-8", errors="replace") for file in files}
        changes = [(route.file, change) for change in _of_route(tree, route.line, route.path)]
        changes += [(handler.file, change) for change in _of_function(handler.function)]
        for file, change in changes:
            mutant = _changed(file, texts[file], change, route)
            if mutant is not None and mutant.text not in [one.text for one in found[change.kind]]:
                found[change.kind].append(mutant)
    return tuple(_in_turn(found, most))


def _is_wanted(method: str, path: str, wanted: Sequence[tuple[str, str]]) -> bool:
    return any(method in (one, "*") and _bare(shape) == _bare(path) for one, shape in wanted)


def _bare(path: str) -> str:
    return path.rstrip("/") or "/"


def _in_turn(found: dict[MutantKind, list[Mutant]], most: int) -> Iterator[Mutant]:
    dice = random.Random(0)  # noqa: S311 - it keeps no secret
    queues = [sorted(found[kind], key=lambda one: (one.file, one.line, one.told)) for kind in KINDS]
    for queue in queues:
        dice.shuffle(queue)
    count = 0
    while count < most and any(queues):
        for queue in queues:
            if queue and count < most:
                count += 1
                yield queue.pop()


def _of_route(tree: ast.Module, line: int, path: str) -> Iterator[_Change]:
    """Yield the route under another path."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or not node.value:
            continue
        text = node.value
        if node.lineno == line and (text.startswith("/") or path.strip("/").endswith(text.strip("/"))):
            yield _Change("route", node, repr(_GONE + "/" + text.lstrip("/")))
            return


def _of_function(function: Function) -> Iterator[_Change]:
    for node in (inner for statement in function.body for inner in ast.walk(statement)):
        yield from _of_status(node)
        if isinstance(node, ast.Dict):
            yield from _of_dict(node)
        if isinstance(node, ast.If):
            yield _Change("condition", node.test, f"not ({ast.unparse(node.test)})")
    for decorator in function.decorator_list:
        for node in ast.walk(decorator):
            yield from _of_status(node)


def _of_status(node: ast.AST) -> Iterator[_Change]:
    if isinstance(node, ast.Constant) and type(node.value) is int and 200 <= node.value < 600:
        yield _Change("status", node, str(_other_status(node.value)))
    if isinstance(node, ast.Attribute) and node.attr.startswith("HTTP_"):
        number = node.attr.split("_")[1]
        if number.isdigit():
            yield _Change("status", node, str(_other_status(int(number))))


def _other_status(status: int) -> int:
    return {200: 202, 201: 202, 204: 202, 404: 410, 400: 409}.get(status, 418)


def _of_dict(node: ast.Dict) -> Iterator[_Change]:
    keys = [key for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    if len(keys) != len(node.keys) or not keys:
        return
    yield _Change("field", keys[0], repr(f"zq_{keys[0].value!s}"))
    if len(keys) > 1:
        first, second = node.values[0], node.values[1]
        if ast.dump(first) != ast.dump(second):
            parts = [
                f"{ast.unparse(key)}: {ast.unparse(value)}"
                for key, value in zip(keys, (second, first, *node.values[2:]), strict=True)
            ]
            yield _Change("field", node, f"{{{', '.join(parts)}}}")
    for value in node.values:
        if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value:
            yield _Change("value", value, repr(f"{value.value} zq"))
        if isinstance(value, ast.Constant) and isinstance(value.value, bool):
            yield _Change("value", value, repr(not value.value))


def _changed(file: str, text: str, change: _Change, route: Route) -> Mutant | None:
    """Return *text* with the node replaced; None where what comes out is no Python."""
    node = change.node
    lines = text.encode().splitlines(keepends=True)
    begin = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: (node.end_lineno or node.lineno) - 1])) + (node.end_col_offset or 0)
    data = text.encode()
    before = data[begin:end].decode(errors="replace")
    whole = (data[:begin] + change.text.encode() + data[end:]).decode(errors="replace")
    try:
        python_tree(whole)
    except (SyntaxError, ValueError, RecursionError):
        return None
    told = f"{' '.join(before.split())[:60]} -> {' '.join(change.text.split())[:60]}"
    return Mutant(change.kind, file, node.lineno, told, whole, route.method, route.path)


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
    asked: int
    """Tests that ask for the changed route."""
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


Asking = Callable[[Mutant], Awaitable[tuple["Prover", int]]]
"""Returns who grades a mutant by the tests that may notice it, and how many those are."""


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
        return frozenset(one.id for one in (await self.grade(tree)).tests if one.outcome == "passed")

    async def stub(self, status: int) -> frozenset[str]:
        """Return the tests that a server passes which answers *status* to all."""
        folder = self._room.next().scratch / "stub"
        folder.mkdir()
        (folder / "server.py").write_text(_STUB.format(status=status, port=self._problem.task.port))
        (folder / "start.sh").write_text("exec python server.py\n")
        (folder / "requirements.txt").write_text("")
        return await self.passed(folder)

    async def prove(
        self, tree: Path, rules: ProofRules, mutants: Sequence[Mutant], asking: Asking, say: Say
    ) -> Proof:
        """Return the counts of the original in *tree*, of worthless ones, and of *mutants*."""
        graded = [await self.grade(tree) for _ in range(rules.times)]
        nothing = self._room.next().scratch / "nothing"
        nothing.mkdir()
        nop = await self.passed(nothing)
        stubs = {str(status): len(await self.stub(status)) for status in STUBS}
        places = asyncio.Semaphore(2)

        async def tried(mutant: Mutant) -> TriedMutant:
            async with places:
                prover, asked = await asking(mutant)
                folder = await asyncio.to_thread(mutated, tree, mutant, self._room)
                passed = len(await prover.passed(folder))
            place = f"{mutant.file}:{mutant.line}"
            say(f"mutant {mutant.kind} at {place}: {passed} of {asked} ({mutant.told})")
            return TriedMutant(
                kind=mutant.kind,
                place=place,
                told=mutant.told,
                passed=passed,
                asked=asked,
                killed=passed < asked,
            )

        found = await asyncio.gather(*map(tried, mutants))
        return Proof(
            tests=self._problem.task.tests.count,
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
