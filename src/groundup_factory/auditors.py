"""What an audit knows of a suite's tasks besides verdicts: worthless submissions, and copies within reach.

`carriers.toml` names pinned distributions that bring other libraries along. For an audit the best copy that a
task's registry still hands out is made a submission: its score is the leak that is left.
"""

import asyncio
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path

from typing_extensions import override

from groundup.domain.tasks import Task
from groundup.environments.requests import ENVIRONMENT_TARGET
from groundup.grading.context import GradingContext
from groundup.registries.pypi.gateway import PyPIGateway
from groundup.suites.base import Auditor, ForCommands, Suite
from groundup.suites.dibench.suite import DiBench
from groundup.suites.nl2repobench.auditing import LibraryAuditor, python_files
from groundup.suites.nl2repobench.published import original_tree, withheld_names
from groundup.suites.nl2repobench.recipe import Recipe
from groundup.trees.fingerprints import (
    LEAST,
    Contents,
    Fingerprint,
    contents_of_archive,
    contents_of_folder,
    prints_of,
)
from groundup.trees.writer import in_thread
from groundup_factory.instances.leaks import DependencyAuditor
from groundup_factory.recipes.files import fingerprint_of
from groundup_factory.recipes.stubs import stub_of

_VENDORED = re.compile(rb"\b[\w.]+\.(?:_vendor|vendor|_vendored|packages|extern)\.(?=\w)")


@cache
def carriers() -> tuple[str, ...]:
    """Return the pinned distributions, `name==version`."""
    text = (files("groundup_factory") / "carriers.toml").read_text(encoding="utf-8")
    return tuple(tomllib.loads(text)["distributions"])


async def write_best_copy(recipe: Recipe, destination: Path, context: GradingContext) -> bool:
    """Write the best copy of an original that the carriers hold, by the rules of the task's registry.

    It goes into *destination*; returns False where there is none.
    """
    fingerprint = await asyncio.to_thread(fingerprint_of, recipe, await original_tree(recipe, context))
    names = withheld_names(recipe.task, recipe)
    best: dict[str, bytes] = {}
    most = 0
    async with context.builder.gateway(refused=names, original=fingerprint) as index:
        for pin in carriers() if index is not None else ():
            assert index is not None  # there is no pin otherwise
            path = await _fetched(index, pin)
            if path is None:
                continue
            copied, shared = await in_thread(_copy_in, path, pin, fingerprint)
            if shared > most:
                best, most = copied, shared
    for name, code in best.items():
        place = destination / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(_VENDORED.sub(b"", code))
    return bool(best)


async def _fetched(index: PyPIGateway, pin: str) -> Path | None:
    """Return the wheel of *pin*, else its source distribution; None where the index has it not, or refuses it."""
    name, _, version = pin.partition("==")
    page = await index.ask(f"/simple/{name}/")
    if page.status != 200 or not isinstance(page.body, bytes):
        return None
    wanted = re.compile(rf"[-_]{re.escape(version)}(-.*\.whl|\.tar\.gz|\.zip)$")
    offered = [file for file in json.loads(page.body)["files"] if wanted.search(file["filename"])]
    for file in sorted(offered, key=lambda file: (not file["filename"].endswith(".whl"), file["filename"]))[:1]:
        answer = await index.ask(file["url"])
        if answer.status == 200 and isinstance(answer.body, Path):
            return answer.body
    return None


@dataclass
class _Texts(Contents):
    texts: dict[str, bytes] = field(default_factory=dict)

    @override
    def take(self, place: str, code: bytes) -> None:
        self.texts[place] = code
        super().take(place, code)


@lru_cache(maxsize=16)
def _texts_of(path: Path, name: str) -> _Texts:
    """Return the code of an archive, looked through once for all tasks."""
    found = _Texts()
    contents_of_archive(path, name, found)
    return found


def _copy_in(path: Path, name: str, fingerprint: Fingerprint) -> tuple[dict[str, bytes], int]:
    """Return the files of an archive that are most like each of the original's, and how many prints they share."""
    found = _texts_of(path, f"{name}.whl")
    copied: dict[str, bytes] = {}
    shared = 0
    for own, prints in fingerprint.prints.items():
        place = max(found.prints, key=lambda place: len(found.prints[place] & prints), default=None)
        common = len(found.prints[place] & prints) if place is not None else 0
        if place is not None and common >= min(LEAST, len(prints) / 2):
            copied |= _beside(own, place, found.texts)
            shared += common
    return copied, shared


def _beside(own: str, place: str, texts: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the file at *place* as *own*; where folder and name are the same, with all of the folder."""
    copied = {own: texts[place]}
    package = own.partition("/")[0]
    if place.endswith(f"/{own}") and package != own:
        above = place.removesuffix(own)
        copied |= {one.removeprefix(above): texts[one] for one in texts if one.startswith(f"{above}{package}/")}
    return copied


STUB, PACKAGE = "stub", "package"


class CopyAuditor(LibraryAuditor):
    """Writes worthless submissions, too, and looks for copies of the originals."""

    controls = (STUB, PACKAGE)

    @override
    async def write(self, control: str, task: Task, destination: Path, context: GradingContext) -> bool:
        """Write every name without behaviour, or the best copy that the index would still hand out."""
        recipe = self.recipes[task.id]
        if control == PACKAGE:
            return await write_best_copy(recipe, destination, context)
        original = await original_tree(recipe, context)
        for name, text in stub_of(original, recipe).items():
            place = destination / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        return True

    @override
    async def answers(self, task: Task, context: GradingContext) -> Sequence[str]:
        """Return files of the environment, and protected ones, that hold one of the original's, by content."""
        recipe = self.recipes[task.id]
        original = await original_tree(recipe, context)
        environment = await context.builder.python(recipe.environment.request())
        fingerprint = await asyncio.to_thread(fingerprint_of, recipe, original)
        places = [mount.source for mount in environment.mounts if mount.target == ENVIRONMENT_TARGET]
        found = []
        for place in places:
            contents = await asyncio.to_thread(contents_of_folder, place)
            found += _like(fingerprint, contents, f"{ENVIRONMENT_TARGET}/")
        protected = Contents()
        for kept in recipe.tests.protected:
            for path in python_files(original / kept):
                protected.prints[str(path.relative_to(original))] = prints_of(path.read_bytes())
        return [*found, *_like(fingerprint, protected, "")]


def _like(fingerprint: Fingerprint, contents: Contents, prefix: str) -> list[str]:
    found = ((place, fingerprint.nearly(prints)) for place, prints in sorted(contents.prints.items()))
    return [f"{prefix}{place} (like {source})" for place, source in found if source is not None]


def auditor_of(suite: Suite) -> Auditor:
    """Return what an audit may know of the tasks of *suite*."""
    known = ForCommands.of(suite).auditor()
    if isinstance(known, LibraryAuditor):
        return CopyAuditor(known.recipes)
    return DependencyAuditor(suite.problems) if isinstance(suite, DiBench) else known
