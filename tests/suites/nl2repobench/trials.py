"""Grading submissions of a tiny library strictly, in real sandboxes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from groundup.domain.tasks import Task
from groundup.grading.context import GradingContext
from groundup.grading.library.hidden import Distribution, FalseRecord, HiddenTests, NumberedTest
from groundup.sandbox.protocol import SandboxProvider
from groundup.suites.base import Graded
from groundup.suites.nl2repobench.recipe import Frozen, Recipe, RecipeEnvironment, RecipeSource
from groundup.suites.nl2repobench.strict import NL2RepoFullGrader, NL2RepoStrictGrader
from tests.grading.library.laboratory import LIBRARY, ORIGINAL, HostBuilder, write_tree

NAMES = ("add", "subtract", "multiply", "data", "version", "program", "module")
EXPECTED = frozenset(
    {NumberedTest(f"tests/test_calc.py::test_{name}") for name in NAMES}
    | {NumberedTest("tests/test_more.py::test_large")}
)
RECIPE = Recipe(
    task="calc",
    source=RecipeSource(name="calc-lab", version="1.2.3", sha256="0" * 64, licence="MIT"),
    environment=RecipeEnvironment(
        python="3.11",
        exclude_newer="2025-01-01T00:00:00Z",
        wants=("pytest",),
        lock={"pytest==9.0.0": ("sha256:" + "0" * 64,)},
    ),
    tests=HiddenTests(
        packages=("calc",),
        arguments=("tests",),
        protected=("tests",),
        distribution=Distribution(
            name="calc-lab", version="1.2.3", entry_points={"console_scripts": {"calc": "calc:main"}}
        ),
        timeout_s=60,
        memory_mb=512,
    ),
    declared={"781a1da": 9},
    frozen=Frozen(pytest="9.0.0", runs=3, duration_s=1, peak_memory_mb=60, original_lines=12),
    expected=EXPECTED,
    twin=FalseRecord(runs=3),
)
TASK = Task(id="calc", suite="nl2repobench", instruction=None, data_version="781a1da", metadata={"declared": 9})
BROKEN = LIBRARY.replace("a * b", "a + b")
"""Passes six of the eight tests: what a cheating submission has without cheating."""
BROKEN_PASSES = 6


@dataclass(frozen=True)
class Trial:
    """Grades trees written from dicts."""

    provider: SandboxProvider
    folder: Path
    recipe: Recipe = RECIPE
    original: Mapping[str, str] = field(default_factory=lambda: ORIGINAL)

    async def grade(
        self,
        files: Mapping[str, str],
        *,
        links: dict[str, str] | None = None,
        timeout_s: float | None = None,
        deep: bool = False,
    ) -> Graded:
        """Return what strict grading says of a submission of *files* and symbolic *links*.

        *deep*: whether all tests that pass are checked.
        """
        if not (self.folder / "original").exists():
            write_tree(self.folder / "original", self.original)
        number = len(list(self.folder.glob("submission-*")))
        submission = write_tree(self.folder / f"submission-{number}", files)
        for name, target in (links or {}).items():
            (submission / name).symlink_to(target)
        scratch = self.folder / "scratch"
        scratch.mkdir(exist_ok=True)
        context = GradingContext(
            provider=self.provider, builder=HostBuilder(self.folder), scratch=scratch, timeout_s=timeout_s
        )
        grader = (NL2RepoFullGrader if deep else NL2RepoStrictGrader)({"calc": self.recipe})
        graded = await grader.grade(TASK, submission, context)
        assert not list(scratch.iterdir()), "what was laid out for grading is removed"
        return graded


def passed(graded: Graded) -> int:
    """Return the numerator; 0 for a tampered submission, which has no score."""
    return int(graded.verdict.score.numerator) if graded.verdict.score is not None else 0
