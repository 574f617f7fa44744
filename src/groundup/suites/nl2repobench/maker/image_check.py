"""A published image beside the recipe that stands for it: configuration, tests, versions, the original in it.

What should lie in the image is what `official` lays below a submission. Of the image's programs, only its Python
runs, in a sandbox.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from groundup.domain.errors import TaskError
from groundup.domain.names import printable
from groundup.grading.context import GradingContext
from groundup.grading.library.decision import decide
from groundup.grading.library.execution import run_hidden_tests
from groundup.grading.library.hidden import LibraryUnderTest
from groundup.sandbox.containers.provider import ContainerProvider
from groundup.sandbox.protocol import WORKSPACE, Command, SandboxSpec
from groundup.suites.nl2repobench.official_environment import write_image
from groundup.suites.nl2repobench.published import original_tree
from groundup.suites.nl2repobench.recipe import Recipe
from groundup.trees.archives import extract_archive
from groundup.trees.digest import entry_digests

_SHOWN = 10
_VERSIONS = """
import json, sys
from importlib.metadata import distributions
found = {d.metadata["Name"]: d.version for d in distributions()}
print(json.dumps(["%d.%d" % sys.version_info[:2], found]))
"""


async def image_changes(
    recipe: Recipe, provider: ContainerProvider, context: GradingContext, held: GradingContext
) -> list[str]:
    """Return how *provider*'s image differs from *recipe*, and what the original scores in it.

    *context* finds the original; *held* grades in the image. Raises `TaskError` where no
    published run is known.
    """
    if recipe.published is None:
        raise TaskError(f"{recipe.task}: the recipe does not say what the published evaluator runs")
    original = await original_tree(recipe, context)
    configuration, packed = await provider.image_files(WORKSPACE)
    expected, there = context.scratch / "expected", context.scratch / "there"
    expected.mkdir()
    (context.scratch / "packed").write_bytes(packed)
    await asyncio.to_thread(write_image, original, recipe.tests, recipe.published, expected)
    if packed:
        await asyncio.to_thread(extract_archive, context.scratch / "packed", there, strip_components=1)
    there.mkdir(exist_ok=True)
    found = [*_configured(configuration), *_tests(recipe, expected, there)]
    found += _versions(recipe, *await _installed(provider, context.scratch))
    return [*found, *await _scored(recipe, original, held)]


def _configured(configuration: Mapping[str, Any]) -> Iterator[str]:
    folder = configuration.get("WorkingDir") or "/"
    if folder != WORKSPACE:
        yield f"configuration: it works in {printable(folder)}, not in {WORKSPACE}"
    for name in ("Entrypoint", "User"):
        if configuration.get(name):
            yield f"configuration: {name} is {printable(json.dumps(configuration[name]))}"


def _tests(recipe: Recipe, expected: Path, there: Path) -> Iterator[str]:
    """Yield which files of the tests are absent, others, or unknown."""
    assert recipe.published is not None
    ours, theirs = entry_digests(expected), entry_digests(there)
    places = tuple(name.rstrip("/") for name in recipe.published.test_files)
    further = [name for name in theirs if name.startswith(tuple(f"{place}/" for place in places))]
    kinds = {
        "absent": sorted(ours.keys() - theirs.keys()),
        "another": sorted(name for name in ours.keys() & theirs.keys() if ours[name] != theirs[name]),
        "not the original's": sorted(set(further) - ours.keys()),
    }
    for kind, names in kinds.items():
        yield from (f"tests: {printable(name)} is {kind}" for name in names[:_SHOWN])
        if len(names) > _SHOWN:
            yield f"tests: {len(names) - _SHOWN} further files are {kind}"


async def _installed(provider: ContainerProvider, scratch: Path) -> tuple[str, Mapping[str, str]]:
    """Return Python's version in the image, and those of what is installed; the image may say anything."""
    room = scratch / "room"
    room.mkdir()
    async with await provider.open(SandboxSpec(workspace=room, label="image")) as sandbox:
        done = await sandbox.run(Command(argv=("python3", "-c", _VERSIONS), timeout_s=60))
    try:
        version, packages = json.loads(done.stdout)
        return str(version), {_plain(str(name)): str(one) for name, one in packages.items()}
    except (ValueError, TypeError, AttributeError):
        return "none that answers", {}


def _versions(recipe: Recipe, python: str, packages: Mapping[str, str]) -> Iterator[str]:
    environment = recipe.environment
    if python != environment.python:
        yield f"versions: Python {printable(python)}, the recipe has {environment.python}"
    for pin in environment.lock:
        name, _, version = pin.partition("==")
        if (there := packages.get(_plain(name))) != version:
            yield f"versions: {name} {printable(there or 'is absent')}, the recipe has {version}"


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


async def _scored(recipe: Recipe, original: Path, held: GradingContext) -> list[str]:
    """Return what the original does not pass with the recipe's layers on the image's system."""
    environment = await held.builder.python(recipe.environment.request())
    execution = await run_hidden_tests(LibraryUnderTest(original, original, recipe.tests, environment), held)
    decision = decide(recipe.expected, recipe.tests, execution.report, execution.result)
    if decision.passed == len(recipe.expected):
        return []
    return [f"grading: the original passes {decision.passed} of {len(recipe.expected)} tests in it"]
