"""The official grader: the published evaluator step by step, faults included, in a rebuilt environment.

Its numbers can be compared with published ones; their faults are in docs/nl2repobench.md. Joins the rules
(`official_rules`), the container's workspace, its environment and its commands into a verdict.

The published evaluator's container, rebuilt: a writable environment with pip, and /workspace.

What the published image offers beyond that (the whole network, no limits) is left out; see docs/nl2repobench.md.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from typing_extensions import override

from groundup.domain.digests import digest_of
from groundup.domain.errors import InfrastructureError, NetworkError, TaskError
from groundup.domain.limits import Limits
from groundup.domain.names import printable
from groundup.domain.tasks import Task
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.environments.requests import ENVIRONMENT_TARGET, PythonEnvironment, PythonRequest
from groundup.grading.context import GradingContext
from groundup.grading.last_words import middle_cut
from groundup.sandbox.protocol import WORKSPACE, Ending, SandboxSpec
from groundup.suites.base import Graded, Grader
from groundup.suites.nl2repobench.official_image import check_programs, held, image_spec
from groundup.suites.nl2repobench.official_rules import (
    PytestCounts,
    Ran,
    count,
    failing_tests,
    first_error,
    needs_shell,
    passed_by_file,
    run_commands,
    success_rate,
)
from groundup.suites.nl2repobench.official_workspace import HeldImage, Image, LaidOut, lay_out
from groundup.suites.nl2repobench.published import PublishedTask
from groundup.suites.nl2repobench.published_image import NOTHING_KNOWN
from groundup.suites.nl2repobench.recipe import (
    PublishedRun,
    Recipe,
    expected_seconds,
    own_names,
    pinned_lines,
)

if TYPE_CHECKING:
    from groundup.registries.pypi.gateway import PyPIGateway


Fact = str | int | float | bool | None
Installs = Literal["open", "no-original", "none"]
"""What pip may fetch: everything, as published; all but the task's own library; nothing."""
_PRETENDED = ("SETUPTOOLS_SCM_PRETEND_VERSION", "PDM_BUILD_SCM_VERSION", "PBR_VERSION")
"""By which build backends that ask Git for a version are given one: a workspace has no history."""
_PATIENCE = 3
_LEAST_COMMAND_S = 900.0


def environment_request(recipe: Recipe) -> PythonRequest:
    """Return the recipe's environment with pip in it, and what else the published commands need."""
    request = recipe.environment.request()
    more = pinned_lines(recipe.published.lock) if recipe.published is not None else ()
    return request.but(with_pip=True, requirements=(*request.requirements, *more))


def command_seconds(recipe: Recipe | None, context: GradingContext) -> float:
    """Return how long one command may take; the published evaluator waits for ever."""
    own_s = 0.0 if recipe is None else recipe.tests.timeout_s * _PATIENCE
    return context.timeout_s or max(_LEAST_COMMAND_S, own_s)


def published_spec(
    workspace: Path, recipe: Recipe, commands: int, environment: PythonEnvironment, context: GradingContext
) -> SandboxSpec:
    """Return the sandbox around *workspace*; its environment is one of its own, for pip writes into it."""
    allowed_s = command_seconds(recipe, context)
    hidden = recipe.tests
    return SandboxSpec(
        workspace=workspace,
        mounts=tuple(
            context.writable(mount) if mount.target == ENVIRONMENT_TARGET else mount
            for mount in environment.mounts
        ),
        environment={
            "LANG": hidden.locale,
            "LC_ALL": hidden.locale,
            "PYTHONPATH": f"{WORKSPACE}:",  # the image's own PYTHONPATH, which is appended, is empty
            **dict.fromkeys(_PRETENDED, recipe.source.version),
            **environment.environment,
            **hidden.environment,
        },
        path=environment.path,
        limits=Limits(
            memory_mb=hidden.memory_mb,
            processes=hidden.processes,
            command_s=allowed_s,
            wall_clock_s=allowed_s * commands + 60,
        ),
        user=hidden.user,
        system="host",
        label="published commands",
    )


async def run_published(
    spec: SandboxSpec,
    recipe: Recipe | None,
    commands: tuple[str, ...],
    installs: Installs,
    context: GradingContext,
) -> tuple[Ran, ...]:
    """Run *commands* in a sandbox of their own.

    Raises `NetworkError` when a command failed and the package index could not be reached meanwhile.
    """
    timeout_s = command_seconds(recipe, context)
    async with _index(recipe, installs, context) as gateway, await context.provider.open(spec) as sandbox:
        if gateway is None:
            return await run_commands(sandbox, commands, _pip_settings(None), timeout_s)
        context.lent.append(gateway)
        variables = _pip_settings(await gateway.attach(sandbox))
        ran = await run_commands(sandbox, commands, variables, timeout_s)
        troubles = [trouble for trouble in gateway.troubles if trouble.kind == "network"]
        if troubles and any(one.said.exit_code for one in ran if "pip" in one.said.command):
            raise NetworkError(
                f"pip could not fetch {troubles[0].name}: {troubles[0].message[:200]}; repeat when the package "
                "index answers, or set official_installs to none"
            )
        return ran


@asynccontextmanager
async def _index(
    recipe: Recipe | None, installs: Installs, context: GradingContext
) -> "AsyncIterator[PyPIGateway | None]":
    if installs == "none":
        yield None
        return
    refused = own_names(recipe) if installs == "no-original" and recipe is not None else ()
    newest = None if recipe is None else recipe.environment.exclude_newer
    async with context.builder.gateway(refused=refused, exclude_newer=newest) as gateway:
        if gateway is None:
            raise InfrastructureError(
                "this environment builder lends no package index to graders; set official_installs to none"
            )
        yield gateway


def _pip_settings(index: str | None) -> Mapping[str, str]:
    where = {"PIP_NO_INDEX": "1"} if index is None else {"PIP_INDEX_URL": index}
    return {**where, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_NO_CACHE_DIR": "1"}


VERSION = "2"
_LEAST_RESERVATION_MB = 512
"""pip and what it builds with need about this much."""
_LOG_BYTES = 256 * 1024


class NL2RepoOfficialGrader(Grader):
    """Does with a submission what the published evaluator does, and counts what its commands print."""

    name = "official"
    version = VERSION

    def __init__(
        self,
        recipes: Mapping[str, Recipe],
        published: Mapping[str, PublishedTask],
        installs: Installs = "open",
        *,
        has_images: bool = False,
    ) -> None:
        """Make the grader. *has_images*: published images are at hand, so that a task needs no recipe."""
        self._has_images = has_images
        self._recipes = recipes
        self._published = published
        self._installs: Installs = installs
        self._usable: set[tuple[str, str]] = set()
        """Tasks and images whose programs were seen to start."""

    @override
    def reservation_mb(self, task: Task) -> int:
        """Return the peak that the recipe recorded, with a margin, and room for pip."""
        recipe = self._recipes.get(task.id)
        if recipe is None or recipe.frozen is None or recipe.frozen.peak_memory_mb is None:
            return task.limits.memory_mb
        return min(recipe.tests.memory_mb, max(_LEAST_RESERVATION_MB, int(recipe.frozen.peak_memory_mb * 1.5)))

    @override
    def expected_s(self, task: Task) -> float:
        """Return how long the tests took when the recipe was frozen."""
        return expected_seconds(self._recipes.get(task.id))

    @override
    def identity(self, task: Task) -> Mapping[str, object]:
        """Return what decides a verdict besides the submission."""
        recipe, run = self._recipes.get(task.id), self._run(task)
        return {
            "recipe": None if recipe is None else digest_of(recipe),
            "published": None if run is None else digest_of(run),
            "installs": self._installs,
            "data_version": task.data_version,
        }

    @override
    async def layers(self, task: Task, context: GradingContext) -> Mapping[str, str]:
        """Return those of the environment and of the revision that the published image holds, or the image."""
        if context.image is not None:
            await self._held(task, context)
            return {"image": context.image.digest}
        recipe = self._recipe(task)
        environment = await context.builder.python(environment_request(recipe))
        original = await context.builder.source(recipe.image_request())
        return {layer.kind: layer.digest for layer in (environment.layer, original)}

    @override
    async def grade(self, task: Task, submission: Path, context: GradingContext) -> Graded:
        """Delete, lay over, run, count."""
        declared, began = _declared(task), time.monotonic()
        laying = await self._laying(task, context)
        prepared = time.monotonic()
        laid = await lay_out(submission, laying.image, context.scratch)
        ran: tuple[Ran, ...] = ()
        if laid.refused is None:
            spec = await asyncio.to_thread(laying.spec, laid.workspace)
            ran = await run_published(spec, laying.recipe, laying.image.run.commands, self._installs, context)
        verdict = _verdict(task, declared, laid, ran)
        facts = laying.facts if context.image is not None else {**laying.facts, **_lent(laid)}
        identity = verdict.grader.but(environment=laying.environment)
        timings = {
            "environment": round(prepared - began, 3),
            "commands": round(sum(one.duration_s for one in ran), 3),
            "total": round(time.monotonic() - began, 3),
        }
        verdict = verdict.but(facts={**verdict.facts, **facts}, grader=identity, timings_s=timings)
        is_certain = await asyncio.to_thread(_is_certain, laying.image, submission, ran)
        return Graded(verdict=verdict, logs=_logs(laid, ran), is_certain=is_certain)

    async def _laying(self, task: Task, context: GradingContext) -> "_Laying":
        """Return what a submission to *task* is laid over, and where the commands run: the image or its double."""
        run = self._commands(task)
        if context.image is not None:
            known = self._recipes.get(task.id)
            return _Laying(
                image=await self._held(task, context),
                recipe=known,
                spec=lambda workspace: image_spec(
                    workspace, task, known, command_seconds(known, context), len(run.commands), context
                ),
                facts={
                    "test_files": "the image's",
                    "package_files": "the image's",
                    "image": context.image.digest[:19],
                },
                environment="image",
            )
        recipe = self._recipe(task)
        environment = await context.builder.python(environment_request(recipe))
        original = await context.builder.source(recipe.image_request())
        known_files = recipe.image or NOTHING_KNOWN
        return _Laying(
            image=Image.of(recipe, run, original.path),
            recipe=recipe,
            spec=lambda workspace: published_spec(workspace, recipe, len(run.commands), environment, context),
            facts={
                "python": environment.python_version,
                "test_files": known_files.tests.told(),
                "package_files": known_files.packages.told(),
            },
            environment="stand-in" if recipe.environment.has_stand_in else "rebuilt",
        )

    async def _held(self, task: Task, context: GradingContext) -> HeldImage:
        """Return what the image holds for *task*, once it was seen to be usable. Raises `MachineError`."""
        run, image = self._commands(task), context.image
        assert image is not None, "the caller knows it"
        known = held(image, run)
        if (task.id, image.digest) not in self._usable:
            await check_programs(image, run, context)
            self._usable.add((task.id, image.digest))
        return known

    @override
    def zero(self, task: Task, reason: Reason) -> Graded:
        """Return 0 over the declared count, for a submission that could not be taken in."""
        declared = _declared(task)
        return Graded(
            verdict=Verdict(
                status=Status.GRADED,
                score=Score(numerator=0, denominator=declared),
                facts={"declared": declared, "passed": 0},
                reasons=(reason,),
                grader=_identity(task),
            )
        )

    @override
    async def sandbox_spec(self, task: Task, workspace: Path, context: GradingContext) -> SandboxSpec:
        """Return the sandbox in which the commands ran, laid out anew; without a way to the package index."""
        laying = await self._laying(task, context)
        spec = laying.spec((await lay_out(workspace, laying.image, context.scratch)).workspace)
        limits = spec.limits.but(command_s=24 * 3600.0, wall_clock_s=24 * 3600.0)
        return spec.but(limits=limits)

    @override
    def check(self, task: Task) -> None:
        """Ask for a locked environment, unless the image has it, and for the published commands."""
        if not self._has_images:
            self._recipe(task)
        self._commands(task)

    def _recipe(self, task: Task) -> Recipe:
        recipe = self._recipes.get(task.id)
        if recipe is None or not recipe.environment.lock:
            from groundup.suites.nl2repobench.decisions import refusal  # for the few without a recipe

            raise refusal(task.id, "has no recipe to rebuild its environment by")
        return recipe

    def _run(self, task: Task) -> PublishedRun | None:
        published, recipe = self._published.get(task.id), self._recipes.get(task.id)
        known = None if recipe is None else recipe.published
        if published is None:
            return known
        given = {"commands": published.commands, "test_files": published.test_files}
        return PublishedRun(**given) if known is None else known.but(**given)

    def _commands(self, task: Task) -> PublishedRun:
        run = self._run(task)
        if run is None:
            raise TaskError(
                f"this machine has no published commands of {task.id}; fetch them with "
                "`groundup data pull nl2repobench`"
            )
        return run


class _Laying(NamedTuple):
    """What a submission is laid over, and where the commands run then."""

    image: Image | HeldImage
    recipe: Recipe | None
    spec: Callable[[Path], SandboxSpec]
    facts: Mapping[str, Fact]
    environment: Literal["rebuilt", "stand-in", "image"]


def _is_certain(image: Image | HeldImage, submission: Path, ran: Sequence[Ran]) -> bool:
    """Whether more time gives nothing: all commands ran to their end, and no test that is known can be late."""
    if any(one.ending is not Ending.EXITED for one in ran):
        return False
    if any(one.said.exit_code and "pytest" not in one.said.command for one in ran):
        return False
    return not image.may_be_late(submission)


def _verdict(task: Task, declared: int, laid: LaidOut, ran: Sequence[Ran]) -> Verdict:
    counts = count([one.said for one in ran])
    facts: dict[str, Fact] = {
        "declared": declared,
        "passed": counts.passed,
        "failed": counts.failed,
        "errors": counts.errors,
        "rate": success_rate(counts.passed, declared),
        "deleted": len(laid.deleted),
        "exit_codes": " ".join(str(one.said.exit_code) for one in ran),
    }
    if any(one.truncated for one in ran):
        facts["output_cut"] = True
    own = _own_passed(laid, ran)
    if own:
        facts["own_tests"] = sum(own.values())
    by_time = any(one.ending.is_out_of_time for one in ran)
    return Verdict(
        status=Status.GRADED,
        score=Score(numerator=min(counts.passed, declared), denominator=declared),
        facts=facts,
        reasons=(*_own_told(own, counts), *_reasons(laid, ran, counts, declared))[:4],
        grader=_identity(task),
        cacheable=not by_time,
        by_time=by_time,
    )


def _own_passed(laid: LaidOut, ran: Sequence[Ran]) -> dict[str, int]:
    """Return the submission's own test files that were counted, with how many of their tests passed."""
    passed = passed_by_file([one.said for one in ran])
    return {file: number for file, number in passed.items() if number and file in laid.own}


def _own_told(own: Mapping[str, int], counts: PytestCounts) -> tuple[Reason, ...]:
    if not own:
        return ()
    total, first = sum(own.values()), printable(min(own))[:80]
    message = (
        f"{total:,} of the {counts.passed:,} counted tests are the submission's own, such as those of {first}"
    )
    return (Reason(stage=Stage.TEST, message=message),)


def _lent(laid: LaidOut) -> dict[str, Fact]:
    return {"lent": " ".join(laid.lent)} if laid.lent else {}


def _reasons(laid: LaidOut, ran: Sequence[Ran], counts: PytestCounts, declared: int) -> tuple[Reason, ...]:
    """Say what went wrong on the way; it does not decide the score."""
    if laid.refused is not None:
        return (Reason(stage=Stage.INTAKE, message=f"the published evaluator gives up: {laid.refused}"[:400]),)
    reasons = []
    for one in ran:
        command = printable(one.said.command)[:80]
        if one.ending.is_out_of_time:
            reasons.append(Reason(stage=Stage.TIMEOUT, message=f"`{command}` was ended after its time"))
        elif one.ending is not Ending.EXITED:
            reasons.append(Reason(stage=Stage.LIMIT, message=f"`{command}` was ended: {one.ending}"))
        elif one.said.exit_code and "pytest" not in one.said.command:
            told = f": {said}" if (said := first_error(one.said)) else ""
            shell = "; it runs without a shell" if needs_shell(one.said.command) else ""
            message = (
                f"`{command}` ended with {one.said.exit_code}{shell}, and the published evaluator goes on{told}"
            )
            reasons.append(Reason(stage=Stage.INSTALL, message=message[:400]))
        elif one.said.exit_code:
            message = (
                f"`{command}` ended with {one.said.exit_code}: {counts.failed} failed, {counts.errors} errors"
            )
            named = failing_tests(one.said)
            first = f", first {'; '.join(named[:2])}" if named else ""
            reasons.append(Reason(stage=Stage.TEST, message=f"{message}{first}"[:400]))
    if counts.passed < declared and not reasons:
        message = f"{counts.passed} tests passed and no command failed, but {declared} are declared"
        reasons.append(Reason(stage=Stage.TEST, message=message))
    if counts.passed < declared:
        more = "`groundup regrade RUN --grader strict` tells each lost test; `groundup show --logs` all output"
        reasons = [*reasons[:3], Reason(stage=Stage.TEST, message=more)]
    return tuple(reasons[:4])


def _logs(laid: LaidOut, ran: Sequence[Ran]) -> dict[str, bytes]:
    """Return what each command printed, as the evaluator reads it, and what was deleted."""
    logs = {"deleted.txt": "".join(f"{printable(path)}\n" for path in laid.deleted).encode()}
    for number, one in enumerate(ran, 1):
        text = middle_cut(one.said.output.encode(errors="replace"), _LOG_BYTES)
        logs[f"command-{number}.txt"] = f"$ {one.said.command}\n".encode() + text
    return logs


def _declared(task: Task) -> int:
    declared = task.metadata.get("declared")
    if not isinstance(declared, int):
        raise TaskError(
            f"{task.id} has no declared count in data version {task.data_version}, which official grading "
            "divides by; fetch it with `groundup data pull nl2repobench`"
        )
    return declared


def _identity(task: Task) -> GraderIdentity:
    return GraderIdentity(
        name=NL2RepoOfficialGrader.name, version=VERSION, data_version=task.data_version, environment="rebuilt"
    )
