"""The published evaluator's container, rebuilt: a writable environment with pip, and /workspace.

What the published image offers beyond that (the whole network, no limits) is left out; see docs/nl2repobench.md.

Below lie the files that the published image plausibly holds, above them what is left of the submission after the
evaluator's deletions. Owns the rules by which Docker's builder copies one over the other.
"""

import os
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal

from groundup.domain.errors import InfrastructureError, NetworkError
from groundup.domain.limits import Limits
from groundup.domain.names import printable
from groundup.domain.records import Record
from groundup.environments.requests import ENVIRONMENT_TARGET, PythonEnvironment, PythonRequest
from groundup.grading.context import GradingContext
from groundup.grading.library.hidden import HiddenTests
from groundup.sandbox.protocol import WORKSPACE, SandboxSpec
from groundup.suites.nl2repobench.official_rules import (
    PACKAGE_FILES,
    Ran,
    delete_package_files,
    delete_test_files,
    run_commands,
)
from groundup.suites.nl2repobench.recipe import PublishedRun, Recipe, pinned_lines
from groundup.trees.removal import remove_tree
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


def own_names(recipe: Recipe) -> tuple[str, ...]:
    """Return the distribution names under which the original can be fetched."""
    names = {recipe.source.name}
    if recipe.tests.distribution is not None:
        names.add(recipe.tests.distribution.name)
    return tuple(sorted(names))


def _pip_settings(index: str | None) -> Mapping[str, str]:
    where = {"PIP_NO_INDEX": "1"} if index is None else {"PIP_INDEX_URL": index}
    return {**where, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_NO_CACHE_DIR": "1"}


class LaidOut(Record):
    """A workspace, ready to run in, or the reason for which the published evaluator gives up before."""

    workspace: Path
    deleted: tuple[str, ...]
    refused: str | None = None


def lay_out(submission: Path, original: Path, hidden: HiddenTests, run: PublishedRun, scratch: Path) -> LaidOut:
    """Do with *submission* what the published evaluator does before the first command, below *scratch*.

    Raises `SubmissionError` for too large a tree.
    """
    workspace, upper = scratch / "workspace", scratch / "submission"
    workspace.mkdir(parents=True)
    copy_tree(submission, upper)
    try:
        if (problem := archive_problem(upper)) is not None:
            return LaidOut(workspace=workspace, deleted=(), refused=problem)
        deleted = (*delete_package_files(upper), *delete_test_files(upper, run.test_files))
        write_image(original, hidden, run, workspace)
        return LaidOut(workspace=workspace, deleted=deleted, refused=overlay(upper, workspace))
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


def write_image(original: Path, hidden: HiddenTests, run: PublishedRun, destination: Path) -> None:
    """Write what the published image plausibly holds at /workspace: tests, their data, package declarations.

    These are the listed test files, the paths that the recipe restores, and files outside the packages named like
    package declarations, which the evaluator deletes from submissions and `pip install -e .` needs; what the
    recipe calls generated outside the packages; not what it says to be absent. Folders that the image has
    elsewhere than the original are moved there.
    """
    packages = {name.partition(".")[0] for name in hidden.packages}
    for name, content in hidden.generated.items():
        place = destination / name
        if not isinstance(content, str) or packages & {*PurePosixPath(name).parts}:
            continue
        (place if name.endswith("/") else place.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            place.write_text(content, encoding="utf-8")
    wanted = {_normal(name) for name in (*run.test_files, *hidden.protected, *run.moved.values())}
    absent = {_normal(name) for name in hidden.absent}
    moved = {PurePosixPath(source): PurePosixPath(target) for target, source in run.moved.items()}
    for path in _files_and_links(original):
        lineage = {str(path), *map(str, path.parents)}
        is_declaration = path.name in PACKAGE_FILES and not packages & {*path.parts}
        if (lineage & wanted or is_declaration) and not lineage & absent:
            _copy(original / path, destination / _moved(path, moved))


def _moved(path: PurePosixPath, moved: Mapping[PurePosixPath, PurePosixPath]) -> PurePosixPath:
    for source, target in moved.items():
        if path.is_relative_to(source):
            return target / path.relative_to(source)
    return path


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target, follow_symlinks=False)
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
