"""Why tests of the original do not pass here, and why published counts differ from expected ones.

A published image beside the recipe that stands for it: configuration, tests, versions, the original in it.

What should lie in the image is what `official` lays below a submission. Of the image's programs, only its Python
runs, in a sandbox.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from groundup.domain.errors import TaskError
from groundup.domain.names import printable
from groundup.grading.context import GradingContext
from groundup.grading.library.decision import decide
from groundup.grading.library.execution import Execution, run_hidden_tests
from groundup.grading.library.hidden import LibraryUnderTest
from groundup.grading.library.report import Result
from groundup.sandbox.containers.provider import ContainerProvider
from groundup.sandbox.protocol import WORKSPACE, Command, SandboxSpec
from groundup.suites.nl2repobench.official_workspace import Image, write_image
from groundup.suites.nl2repobench.published import original_tree
from groundup.suites.nl2repobench.recipe import Difference, Recipe, Why
from groundup.trees.archives import extract_archive
from groundup.trees.digest import entry_digests
from groundup.trees.writer import in_thread
from groundup_factory.recipes.freezing import given_reason

_MARKED = frozenset({Why.SKIPPED, Why.EXPECTED_FAILURE})
"""Tests that never pass with the original, so a published count of passing tests cannot hold them."""


_NEAR = 0.05
"""Of a published count: what differs by more is for a person to explain."""
_OPTIONAL = re.compile(r"could not import|not installed|unavailable|not available|requires|No module named")


def explained(recipe: Recipe) -> tuple[Difference, ...]:
    """Return what accounts for each published count; what a person wrote and still adds up is kept."""
    found: list[Difference] = []
    for version, declared in sorted(recipe.declared.items()):
        wanted = declared - len(recipe.expected)
        given = [one for one in recipe.differences if one.data_version == version]
        if given and sum(one.tests for one in given) == wanted:
            found += given
        elif wanted:
            found += _of_version(recipe, version, wanted)
    return tuple(found)


def unexplained(recipe: Recipe) -> dict[str, int]:
    """Return data versions whose published count is not accounted for, and by how many tests."""
    left = {}
    for version, declared in recipe.declared.items():
        given = sum(one.tests for one in recipe.differences if one.data_version == version)
        if given != declared - len(recipe.expected):
            left[version] = declared - len(recipe.expected) - given
    return left


def _of_version(recipe: Recipe, version: str, wanted: int) -> Iterator[Difference]:
    collected = recipe.frozen.collected if recipe.frozen else None
    groups = Counter(one.why for one in recipe.excluded)
    failing = {why: number for why, number in groups.items() if why not in _MARKED}
    if wanted > 0 and sum(failing.values()) == wanted:
        for why, number in failing.items():
            note = next(one.note or one.id for one in recipe.excluded if one.why is why)
            yield Difference(data_version=version, why=why, tests=number, note=note)
        return
    fitting = [why for why, number in failing.items() if number == wanted]
    # One reason alone can hold for some of its tests: of two missing modules one was there.
    fitting = fitting or [why for why, number in failing.items() if len(failing) == 1 and number > wanted > 0]
    if fitting:
        note = next(one.note or one.id for one in recipe.excluded if one.why is fitting[0])
        part = f"{wanted} of {failing[fitting[0]]}: " if failing[fitting[0]] != wanted else ""
        yield Difference(data_version=version, why=fitting[0], tests=wanted, note=f"{part}{note}")
        return
    alike = Counter(one.note for one in recipe.excluded if one.why is Why.SKIPPED and one.note)
    optional = next((note for note, number in alike.items() if number == wanted and _OPTIONAL.search(note)), None)
    if optional is not None:
        yield Difference(data_version=version, why=Why.OPTIONAL_DEPENDENCY, tests=wanted, note=optional)
        return
    counted = f"{collected} collected, {len(recipe.expected)} passed in each run"
    counted += "".join(f", {number} {why.value}" for why, number in sorted(groups.items()))
    if collected is not None and recipe.declared[version] == collected:
        note = f"all collected tests were published as passing: {counted}"
        yield Difference(data_version=version, why=Why.COUNT_WRONG, tests=wanted, note=note)
        return
    others = [name for name, count in recipe.declared.items() if count == len(recipe.expected)]
    if others:
        note = f"corrected by the publishers in {others[0]}: {counted}"
        yield Difference(data_version=version, why=Why.COUNT_WRONG, tests=wanted, note=note)
        return
    if abs(wanted) <= max(1, recipe.declared[version] * _NEAR):
        note = f"what the published image held is not known: {counted}"
        yield Difference(data_version=version, why=Why.VERSIONS, tests=wanted, note=note)


_SIGNS = (
    (
        Why.NETWORK,
        r"name resolution|Name or service not known|Network is unreachable|Max retries exceeded|gaierror|"
        r"NewConnectionError|No route to host|URLError|ConnectError",
    ),
    (Why.DISPLAY, r"\$?DISPLAY\b|no display|Xlib|TclError|xclip|xsel|pbcopy"),
    (Why.SERVICE, r"Connection refused|ConnectionRefusedError|could not connect to server|redis|mysql|postgres"),
    (
        Why.OPTIONAL_DEPENDENCY,
        r"No module named|could not import|ModuleNotFoundError|not installed|is required for",
    ),
    (Why.USER, r"PermissionError|Permission denied|Operation not permitted|\broot\b"),
)


def with_reasons(recipe: Recipe, execution: Execution, say: Callable[[str], None]) -> Recipe:
    """Return the draft with a reason for each failing test whose output shows one."""
    reasons: dict[str, Why] = dict(recipe.reasons)
    for key, result in sorted(execution.report.results.items()):
        if result.outcome not in ("failed", "error") or given_reason(recipe, key) is not None:
            continue
        why = _reason_of(result)
        say(f"fails: {key}: {result.message} -> {why.value if why else 'no reason known'}")
        if why is not None:
            reasons[str(key)] = why
    return recipe.but(reasons=reasons)


def _reason_of(result: Result) -> Why | None:
    """Return the reason that *result* of the original shows."""
    for why, signs in _SIGNS:
        if re.search(signs, result.message):
            return why
    return None


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
    await in_thread(write_image, Image.of(recipe, recipe.published, original), expected)
    if packed:
        await in_thread(extract_archive, context.scratch / "packed", there, strip_components=1)
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
