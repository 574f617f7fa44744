"""Everything that the matrix tries: a cheat, on a base, before a grader."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial

from groundup.domain.digests import digest_of
from groundup.sandbox.protocol import SandboxProvider
from groundup.trees.scratch import scratch_folder
from tests.cheats.ci import CI, INSTANCES
from tests.cheats.ci_trials import JobTrial, job_trial
from tests.cheats.corpus import Base
from tests.cheats.java import JAVA
from tests.cheats.java_trials import java_trial
from tests.cheats.libraries import LIBRARIES
from tests.cheats.recipes import RecipeTrial, recipe_trial
from tests.cheats.results import Outcome
from tests.cheats.services import SERVICES
from tests.cheats.trials import GraderName, LibraryTrial, outcome_of, wares_trial
from tests.cheats.wares import BASE
from tests.suites.repogenesis.trials import Trial as ServiceTrial

TARGETS = ("library", "service", "java", "ci")
GRADERS: tuple[GraderName, ...] = ("official", "strict")
OF_LIBRARIES: tuple[GraderName, ...] = (*GRADERS, "full")


@dataclass(frozen=True)
class Case:
    """One submission before one grader."""

    target: str
    base: str
    grader: str
    family: str
    cheat: str
    tries: str
    files: Mapping[str, str]
    deserves: float | None
    grade: Callable[[], Awaitable[Outcome]]
    memorises: bool = False

    @property
    def digest(self) -> str:
        """What tells this submission from others."""
        return digest_of(
            {path: text.encode("utf-8", "surrogateescape").hex() for path, text in self.files.items()}
        )[:20]


async def cases(
    provider: SandboxProvider, stack: AsyncExitStack, targets: Sequence[str], bases: Sequence[str]
) -> AsyncIterator[Case]:
    """Yield all cases of *targets*; libraries for each of *bases*."""
    if "library" in targets:
        for name in bases:
            if name == "wares":
                trial = await stack.enter_async_context(wares_trial(provider))
                found = library_cases(name, BASE, trial)
            else:
                room = stack.enter_context(scratch_folder("cheats"))
                real = recipe_trial(name, provider, room)
                found = library_cases(name, await real.base(), real)
            for case in found:
                yield case
    if "service" in targets:
        room = stack.enter_context(scratch_folder("cheats"))
        for case in service_cases(ServiceTrial(provider, room)):
            yield case
    if "java" in targets:
        java = stack.enter_context(java_trial(provider))
        for one in JAVA:
            yield Case(
                "java", one.base, "strict", one.family, one.name, one.tries, one.files, one.deserves,
                partial(java.grade, one.files),
            )  # fmt: skip
    if "ci" in targets:
        for case in job_cases(stack.enter_context(job_trial(provider))):
            yield case


def job_cases(trial: JobTrial) -> list[Case]:
    """Return what is executed of every build file, and the masked instances, which deserve nothing."""
    masked = [
        ("honest", "honest", "declares nothing", name, {path: tiny.masked[path] for path in tiny.original})
        for name, tiny in INSTANCES.items()
    ]
    found = [*masked, *((one.family, one.name, one.tries, one.base, dict(one.files)) for one in CI)]
    return [
        Case("ci", base, "strict", family, cheat, tries, files, 0, partial(trial.grade, base, files))
        for family, cheat, tries, base, files in found
    ]


def library_cases(name: str, base: Base, trial: LibraryTrial | RecipeTrial) -> list[Case]:
    """Return the honest half-broken library, and every cheat that starts from it."""
    found = [("honest", "honest", "is half broken and honest", dict(base.broken), False)]
    found += [(one.family, one.name, one.tries, one.make(base), one.memorises) for one in LIBRARIES]
    return [
        Case(
            "library",
            name,
            grader,
            family,
            cheat,
            tries,
            files,
            None,
            partial(trial.grade, files, grader),
            memorises,
        )
        for grader in OF_LIBRARIES
        for family, cheat, tries, files, memorises in found
    ]


def service_cases(trial: ServiceTrial) -> list[Case]:
    """Return every service."""

    async def grade(files: Mapping[str, str], measure: str, grader: GraderName) -> Outcome:
        judge = trial.strict if grader == "strict" else trial.official
        return outcome_of(await judge(dict(files)), measure)

    return [
        Case(
            "service", "notes", grader, one.family, one.name, one.tries, one.files, one.deserves,
            partial(grade, one.files, one.measure, grader), one.memorises,
        )
        for grader in GRADERS
        for one in SERVICES
    ]  # fmt: skip
