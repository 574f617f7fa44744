"""The suite with the published tasks, or with a set of libraries of one's own in their place."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from typing_extensions import override

from groundup.domain.subjects import AttemptKey
from groundup.domain.tasks import Task
from groundup.domain.verdicts import Verdict
from groundup.settings import Settings
from groundup.suites.base import Grader, Summary
from groundup.suites.nl2repobench import suite
from groundup.suites.nl2repobench.library_set import SetRecipes, data_of, kept_fingerprint
from groundup.suites.places import data_folder
from groundup.suites.sets import is_set, read_manifest
from groundup.trees.fingerprints import Fingerprint


def create(settings: Settings) -> suite.Nl2RepoBench:
    """Return the suite with the data that *settings* lead to. Raises `UsageError`."""
    folder = data_folder(suite.NAME, settings)
    if folder is not None and is_set(folder):
        return _of_set(folder, settings)
    return suite.create(settings)


def _of_set(folder: Path, settings: Settings) -> "OwnLibraries":
    manifest = read_manifest(folder)
    recipes = SetRecipes(folder, settings.python)
    made = OwnLibraries(
        {task.id: recipes[task.id] for task in manifest.tasks},
        data_of(folder, manifest, recipes),
        cache_dir=settings.cache_dir,
        agent_environment=settings.agent_environment,
    )
    made.folder = folder
    return made


class OwnLibraries(suite.Nl2RepoBench):
    """Tasks that nobody published: no image, no declared count, no publishers' way to grade them."""

    folder: Path
    """Of the set."""

    @override
    def graders(self) -> Mapping[str, Grader]:
        """Return the strict graders."""
        from groundup.suites.nl2repobench.strict import NL2RepoFullGrader, NL2RepoStrictGrader

        strict = NL2RepoStrictGrader(self._recipes, _no_fresh_inputs)
        return {grader.name: grader for grader in (strict, NL2RepoFullGrader(self._recipes, _no_fresh_inputs))}

    @override
    def fingerprint(self, task: Task) -> Fingerprint | None:
        """Return what lies beside the task's recipe in the set."""
        return kept_fingerprint(self.folder, task)

    @override
    def published_image(self, task: Task) -> None:
        """Return None: nobody publishes one."""

    @override
    def summaries(self, verdicts: Mapping[AttemptKey, Verdict | None], grader: str) -> Sequence[Summary]:
        """Return none: the published tables are of the published tasks."""
        return ()

    @override
    def _declared(self, name: str) -> int | None:
        return None


def _no_fresh_inputs(task: str) -> None:
    """Know no fresh inputs: those that ship are of published tasks, which may have the same names."""
