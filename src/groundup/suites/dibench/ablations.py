"""Submissions changed to see what one kind of mistake costs: right names with wrong versions, and invented names.

`oracle-metadata`: where a name is right, everything else of the declaration is the original's; wrong names stay.
`without-fakes`: what a registry that was asked does not have, and paths that the repository does not have, are
taken out; what could not be looked up stays.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from typing_extensions import override

from groundup.domain.tasks import Task
from groundup.languages.formats import FORMATS, format_of
from groundup.manifests.records import Dependency, ManifestError
from groundup.registries.names import Names
from groundup.suites.base import Ablation
from groundup.suites.dibench.answers import Edited, declared, original, submitted
from groundup.suites.dibench.dataset import InstanceProblem
from groundup.suites.dibench.declarations import NameKey, name_key
from groundup.suites.dibench.registry_check import EditedRepository, Existence, check

ORACLE_METADATA = "oracle-metadata"
WITHOUT_FAKES = "without-fakes"
_GONE = (Existence.FAKE, Existence.INTERNAL_MISSING)


class DependencyAblation(Ablation):
    """Changes what build files declare."""

    kinds = (ORACLE_METADATA, WITHOUT_FAKES)

    def __init__(self, problems: Mapping[str, InstanceProblem], names: Names) -> None:
        self._problems = problems
        self._names = names

    @override
    async def write(self, kind: str, task: Task, submission: Path, destination: Path) -> None:
        """Write the changed build files."""
        await _ablate(kind, self._problems[task.id], submission, destination, self._names)


async def _ablate(kind: str, problem: InstanceProblem, submission: Path, destination: Path, names: Names) -> None:
    edited = submitted(problem, submission)
    for path in problem.instance.build_files:
        data = edited.read(path)
        if data is None or path in edited.broken:
            continue
        content = data
        known = format_of(path) or FORMATS["requirements.txt"]
        try:
            present = known.read(data, path).dependencies
            if kind == ORACLE_METADATA:
                kept = _with_oracle_metadata(problem, path, present)
            else:
                kept = await _without_fakes(problem, path, present, edited, names)
            if kept != list(present):
                content = known.write(data, kept, path)
        except ManifestError:
            pass  # a file that cannot be read stays as it is: its dependencies are missing either way
        file = destination / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def _with_oracle_metadata(problem: InstanceProblem, path: str, present: Sequence[Dependency]) -> list[Dependency]:
    """Take the original's declarations of a name instead of the prediction's."""
    given = _unless_broken(problem, path)
    wanted: dict[NameKey, list[Dependency]] = {}
    for item in declared(path, original(problem), problem):
        wanted.setdefault(name_key(item), []).append(item)
    kept: list[Dependency] = []
    for item in present:
        if item.identity in given:
            kept.append(item)
            continue
        kept += wanted.pop(name_key(item), [item] if name_key(item) not in _names(kept) else [])
    return list({item.identity: item for item in kept}.values())


def _names(items: Sequence[Dependency]) -> set[NameKey]:
    return {name_key(item) for item in items}


def _unless_broken(problem: InstanceProblem, path: str) -> set[object]:
    try:
        return {item.identity for item in declared(path, problem.read, problem)}
    except ManifestError:
        return set()


async def _without_fakes(
    problem: InstanceProblem, path: str, present: Sequence[Dependency], edited: Edited, names: Names
) -> list[Dependency]:
    async with names.asking() as asking:
        checked = await check({path: present}, EditedRepository(problem, edited.read), asking)
    return [item.dependency for item in checked if item.existence not in _GONE]
