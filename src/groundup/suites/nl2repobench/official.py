"""The official grader: the published evaluator step by step, faults included, in a rebuilt environment.

Its numbers can be compared with published ones; their faults are in docs/nl2repobench.md. Joins the rules
(`official_rules`), the container's workspace, its environment and its commands into a verdict.

The published evaluator's container, rebuilt: a writable environment with pip, and /workspace.

What the published image offers beyond that (the whole network, no limits) is left out; see docs/nl2repobench.md.

Below lie the files that the published image plausibly holds, above them what is left of the submission after the
evaluator's deletions. Owns the rules by which Docker's builder copies one over the other.
"""

import asyncio
import os
import re
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal, NamedTuple

from typing_extensions import override

from groundup.domain.digests import digest_of
from groundup.domain.errors import InfrastructureError, NetworkError, TaskError, reading_submission
from groundup.domain.limits import Limits
from groundup.domain.names import printable
from groundup.domain.records import Record
from groundup.domain.tasks import Task
from groundup.domain.verdicts import GraderIdentity, Reason, Score, Stage, Status, Verdict
from groundup.environments.requests import ENVIRONMENT_TARGET, PythonEnvironment, PythonRequest
from groundup.grading.context import GradingContext
from groundup.grading.last_words import middle_cut
from groundup.grading.library.hidden import HiddenTests
from groundup.sandbox.protocol import WORKSPACE, Ending, SandboxSpec
from groundup.suites.base import Graded, Grader
from groundup.suites.nl2repobench.official_rules import (
    PACKAGE_FILES,
    PytestCounts,
    Ran,
    count,
    delete_package_files,
    delete_test_files,
    passed_by_file,
    run_commands,
    success_rate,
)
from groundup.suites.nl2repobench.published import PublishedTask
from groundup.suites.nl2repobench.published_image import NOTHING_KNOWN, PublishedImage
from groundup.suites.nl2repobench.recipe import PublishedRun, Recipe, expected_seconds, own_names, pinned_lines
from groundup.trees.walking import remove_tree
from groundup.trees.writer import copy_tree

if TYPE_CHECKING:
    from groundup.registries.pypi.gateway import PyPIGateway


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


def command_seconds(recipe: Recipe, context: GradingContext) -> float:
    """Return how long one command may take; the published evaluator waits for ever."""
    return context.timeout_s or max(_LEAST_COMMAND_S, recipe.tests.timeout_s * _PATIENCE)


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
    spec: SandboxSpec, recipe: Recipe, commands: tuple[str, ...], installs: Installs, context: GradingContext
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
    recipe: Recipe, installs: Installs, context: GradingContext
) -> "AsyncIterator[PyPIGateway | None]":
    if installs == "none":
        yield None
        return
    refused = own_names(recipe) if installs == "no-original" else ()
    async with context.builder.gateway(refused=refused, exclude_newer=recipe.environment.exclude_newer) as gateway:
        if gateway is None:
            raise InfrastructureError(
                "this environment builder lends no package index to graders; set official_installs to none"
            )
        yield gateway


def _pip_settings(index: str | None) -> Mapping[str, str]:
    where = {"PIP_NO_INDEX": "1"} if index is None else {"PIP_INDEX_URL": index}
    return {**where, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_NO_CACHE_DIR": "1"}


class LaidOut(Record):
    """A workspace, ready to run in, or the reason for which the published evaluator gives up before."""

    workspace: Path
    deleted: tuple[str, ...]
    lent: tuple[str, ...] = ()
    """The original's files for which its package declarations look, and which nobody brings."""
    own: frozenset[str] = frozenset()
    """Python files of the submission that are left of it."""
    refused: str | None = None


class Image(NamedTuple):
    """What the published image of a task is rebuilt of."""

    original: Path
    hidden: HiddenTests
    run: PublishedRun
    known: PublishedImage = NOTHING_KNOWN

    @classmethod
    def of(cls, recipe: Recipe, run: PublishedRun, original: Path) -> "Image":
        return cls(original, recipe.tests, run, recipe.image or NOTHING_KNOWN)


def lay_out(submission: Path, image: Image, scratch: Path) -> LaidOut:
    """Do with *submission* what the published evaluator does before the first command, below *scratch*.

    Raises `SubmissionError` for too large a tree, `TaskError` where a file of the image is not as the recipe says.
    """
    workspace, upper = scratch / "workspace", scratch / "submission"
    workspace.mkdir(parents=True)
    copy_tree(submission, upper)
    try:
        if (problem := archive_problem(upper)) is not None:
            return LaidOut(workspace=workspace, deleted=(), refused=problem)
        deleted = (*delete_package_files(upper), *delete_test_files(upper, image.run.test_files))
        own = frozenset(str(path) for path in _files_and_links(upper) if path.suffix == ".py")
        write_image(image, workspace)
        refused = overlay(upper, workspace)
        lent = () if refused is not None else lend_looked_up(image, workspace)
        return LaidOut(workspace=workspace, deleted=deleted, lent=lent, own=own, refused=refused)
    finally:
        remove_tree(upper)


def archive_problem(tree: Path) -> str | None:
    """Say why the evaluator's first step, a zip archive of the submission, fails; None when it does not.

    One dangling link, or one file name that is not UTF-8, ends the evaluation without a score.
    """
    for folder, _, names in os.walk(tree):
        for name in names:
            path = Path(folder, name)
            shown = printable(str(path.relative_to(tree)))[:120]
            try:
                path.stat()
                name.encode()
            except OSError:
                return f"{shown} leads nowhere, so the submission cannot be archived"
            except UnicodeEncodeError:
                return f"the name {shown} is not UTF-8, so the submission cannot be archived"
    return None


def write_image(image: Image, destination: Path) -> None:
    """Write what the published image holds at /workspace, or plausibly holds: tests, their data, declarations.

    These are the listed test files, the paths that the recipe restores, and files outside the packages named like
    package declarations, which the evaluator deletes from submissions and `pip install -e .` needs; what the
    recipe calls generated outside the packages; not what it says to be absent. Folders that the image has
    elsewhere than the original are moved there. A file whose published form is known has it.
    Raises `TaskError` where a file of the original does not become what the recipe says.
    """
    original, hidden, run, known = image
    packages = {name.partition(".")[0] for name in hidden.packages}
    for name, content in hidden.generated.items():
        place = destination / name
        if not isinstance(content, str) or packages & {*PurePosixPath(name).parts}:
            continue
        (place if name.endswith("/") else place.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            place.write_text(content, encoding="utf-8")
    for name in known.empty:
        (destination / name).parent.mkdir(parents=True, exist_ok=True)
        (destination / name).touch()
    wanted = {_normal(name) for name in (*run.test_files, *hidden.protected, *run.moved.values())}
    absent = {_normal(name) for name in (*hidden.absent, *known.absent)}
    declared = {path for path, *_ in known.packages.standings()}
    moved = {PurePosixPath(source): PurePosixPath(target) for target, source in run.moved.items()}
    for path in _files_and_links(original):
        lineage = {str(path), *map(str, path.parents)}
        is_declaration = path.name in PACKAGE_FILES and not packages & {*path.parts}
        if is_declaration and known.packages.all_named and str(path) not in declared:
            continue
        if (lineage & wanted or is_declaration or str(path) in declared) and not lineage & absent:
            _copy(original / path, destination / _moved(path, moved), partial(known.content, str(path)))


_LOOKED_UP = re.compile(
    r"(readme|changelog|changes|history|news|licen[cs]e|copying|authors|contributors|notice|version|"
    r"(long_)?description)[\w.-]*",
    re.IGNORECASE,
)
"""Names of files that package declarations read, and that are neither code nor tests."""


def lend_looked_up(image: Image, workspace: Path) -> tuple[str, ...]:
    """Give *workspace* the original's README, changelog and licence that its declarations name and nobody brings.

    The published declarations do not look for them, in so far as they are known; the others are upstream's, whose
    installation would fail for want of a file that no submission was asked to have.
    """
    if image.known.packages.is_proven:
        return ()
    laid = [path for path in _files_and_links(workspace) if path.name in PACKAGE_FILES]
    read = b"\n".join((workspace / path).read_bytes() for path in laid if (workspace / path).is_file()).lower()
    lent = []
    for path in sorted(_files_and_links(image.original)):
        target = workspace / path
        if not _LOOKED_UP.fullmatch(path.name) or path.suffix == ".py" or path.name.lower().encode() not in read:
            continue
        if len(path.parts) > 2 or target.exists() or target.is_symlink() or _is_blocked(workspace, path):
            continue
        if (image.original / path).is_file():
            _copy(image.original / path, target)
            lent.append(str(path))
    return tuple(lent)


def _is_blocked(workspace: Path, path: PurePosixPath) -> bool:
    """Say whether something other than a folder lies above *path*."""
    above = [workspace / one for one in path.parents]
    return any(one.is_symlink() or (one.exists() and not one.is_dir()) for one in above[:-1])


def _moved(path: PurePosixPath, moved: Mapping[PurePosixPath, PurePosixPath]) -> PurePosixPath:
    for source, target in moved.items():
        if path.is_relative_to(source):
            return target / path.relative_to(source)
    return path


def _copy(source: Path, target: Path, changed: Callable[[bytes], bytes] | None = None) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if changed is None or source.is_symlink():
        shutil.copyfile(source, target, follow_symlinks=False)
    else:
        target.write_bytes(changed(source.read_bytes()))
    if not target.is_symlink():
        target.chmod(0o755 if os.access(source, os.X_OK) else 0o644)


def _normal(path: str) -> str:
    return str(PurePosixPath(path))


def overlay(upper: Path, lower: Path) -> str | None:
    """Move everything in *upper* over *lower*, as Docker's builder copies; say what it refuses.

    Folders merge and files replace files; a file or a link never replaces a folder, nor a folder anything else.
    """
    for folder, folders, files in os.walk(upper):
        inside = Path(folder).relative_to(upper)
        for name in folders:
            target = lower / inside / name
            if (Path(folder) / name).is_symlink():
                files.append(name)
            elif target.is_symlink() or target.exists():
                if target.is_symlink() or not target.is_dir():
                    return f"the folder {_shown(inside / name)} cannot replace what the image holds there"
            else:
                target.mkdir()
        for name in files:
            target = lower / inside / name
            if target.is_dir() and not target.is_symlink():
                return f"{_shown(inside / name)} cannot replace the folder that the image holds there"
            (Path(folder) / name).rename(target)
    return None


def _files_and_links(root: Path) -> Iterator[PurePosixPath]:
    for folder, folders, files in os.walk(root):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for name in (*files, *links):
            yield PurePosixPath(Path(folder, name).relative_to(root))


def _shown(path: Path) -> str:
    return printable(str(path))[:120]


VERSION = "2"
_LEAST_RESERVATION_MB = 512
"""pip and what it builds with need about this much."""
_LOG_BYTES = 256 * 1024


class NL2RepoOfficialGrader(Grader):
    """Does with a submission what the published evaluator does, and counts what its commands print."""

    name = "official"
    version = VERSION

    def __init__(
        self, recipes: Mapping[str, Recipe], published: Mapping[str, PublishedTask], installs: Installs = "open"
    ) -> None:
        self._recipes = recipes
        self._published = published
        self._installs: Installs = installs

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
        environment = await context.builder.python(environment_request(self._recipe(task)))
        return {environment.layer.kind: environment.layer.digest}

    @override
    async def grade(self, task: Task, submission: Path, context: GradingContext) -> Graded:
        """Delete, lay over, run, count."""
        recipe, run, declared = self._recipe(task), self._commands(task), _declared(task)
        began = time.monotonic()
        environment = await context.builder.python(environment_request(recipe))
        original = await context.builder.source(recipe.image_request())
        prepared = time.monotonic()
        with reading_submission("the submission"):
            image = Image.of(recipe, run, original.path)
            laid = await asyncio.to_thread(lay_out, submission, image, context.scratch)
        ran: tuple[Ran, ...] = ()
        if laid.refused is None:
            spec = await asyncio.to_thread(
                published_spec, laid.workspace, recipe, len(run.commands), environment, context
            )
            ran = await run_published(spec, recipe, run.commands, self._installs, context)
        verdict = _verdict(task, declared, laid, ran, environment)
        verdict = verdict.but(facts={**verdict.facts, **_form_of(recipe, laid)})
        if recipe.environment.has_stand_in:
            verdict = verdict.but(grader=_identity(task).but(environment="stand-in"))
        timings = {
            "environment": round(prepared - began, 3),
            "commands": round(sum(one.duration_s for one in ran), 3),
            "total": round(time.monotonic() - began, 3),
        }
        return Graded(verdict=verdict.but(timings_s=timings), logs=_logs(laid, ran))

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
        recipe, run = self._recipe(task), self._commands(task)
        environment = await context.builder.python(environment_request(recipe))
        original = await context.builder.source(recipe.image_request())
        laid = lay_out(workspace, Image.of(recipe, run, original.path), context.scratch)
        spec = published_spec(laid.workspace, recipe, len(run.commands), environment, context)
        limits = spec.limits.but(command_s=24 * 3600.0, wall_clock_s=24 * 3600.0)
        return spec.but(limits=limits)

    @override
    def check(self, task: Task) -> None:
        """Ask for a locked environment and for the published commands."""
        self._recipe(task)
        self._commands(task)

    def _recipe(self, task: Task) -> Recipe:
        recipe = self._recipes.get(task.id)
        if recipe is None or not recipe.environment.lock:
            raise TaskError(
                f"{task.id} has no recipe to rebuild its environment by; make one with "
                f"`groundup recipe build {task.id}`"
            )
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


def _verdict(
    task: Task, declared: int, laid: LaidOut, ran: Sequence[Ran], environment: PythonEnvironment
) -> Verdict:
    counts = count([one.said for one in ran])
    facts: dict[str, str | int | float | bool | None] = {
        "declared": declared,
        "passed": counts.passed,
        "failed": counts.failed,
        "errors": counts.errors,
        "rate": success_rate(counts.passed, declared),
        "deleted": len(laid.deleted),
        "exit_codes": " ".join(str(one.said.exit_code) for one in ran),
        "python": environment.python_version,
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


def _form_of(recipe: Recipe, laid: LaidOut) -> dict[str, str | int | float | bool | None]:
    """Return what is known of the files that lay below the submission."""
    known = recipe.image or NOTHING_KNOWN
    facts = {"test_files": known.tests.told(), "package_files": known.packages.told()}
    return {**facts, **({"lent": " ".join(laid.lent)} if laid.lent else {})}


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
            message = f"`{command}` ended with {one.said.exit_code}, which changes nothing"
            reasons.append(Reason(stage=Stage.INSTALL, message=message))
        elif one.said.exit_code:
            message = (
                f"`{command}` ended with {one.said.exit_code}: {counts.failed} failed, {counts.errors} errors"
            )
            reasons.append(Reason(stage=Stage.TEST, message=message))
    if counts.passed < declared and not reasons:
        message = f"{counts.passed} tests passed and no command failed, but {declared} are declared"
        reasons.append(Reason(stage=Stage.TEST, message=message))
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
