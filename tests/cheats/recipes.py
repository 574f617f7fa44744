"""Real recipes as what cheaters start from: the original with every second function made to return None."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from groundup.domain.tasks import Task
from groundup.environments.local import LocalBuilder
from groundup.grading.context import GradingContext
from groundup.sandbox.protocol import SandboxProvider
from groundup.settings import Settings, load
from groundup.suites.base import Suite
from groundup.suites.nl2repobench.recipe import shipped_recipes
from groundup.suites.nl2repobench.suite import create
from groundup.trees.walking import remove_tree
from tests.cheats.corpus import Base
from tests.cheats.results import Outcome
from tests.cheats.trials import GraderName, outcome_of
from tests.grading.library.laboratory import write_tree


@dataclass(frozen=True)
class RecipeTrial:
    """Grades submissions of one recipe."""

    suite: Suite
    task: Task
    provider: SandboxProvider
    folder: Path

    async def grade(self, files: Mapping[str, str], grader: GraderName = "strict") -> Outcome:
        """Return what a submission of *files* gets."""
        submission, context = write_tree(self.folder / "submission", files), self._context()
        try:
            return outcome_of(await self.suite.graders()[grader].grade(self.task, submission, context))
        finally:
            remove_tree(submission)
            remove_tree(context.scratch)

    async def base(self) -> Base:
        """Return the half-broken original, with the public suite that its oracle brings."""
        original = self.folder / "original"
        original.mkdir()
        await self.suite.reference(self.task, "oracle", original, self._context())
        files = {
            str(path.relative_to(original)): path.read_text(encoding="utf-8")
            for path in sorted(original.rglob("*.py"))
            if path.is_file() and not path.is_symlink()
        }
        tests = {path: text for path, text in files.items() if "test" in path}
        known = shipped_recipes()[self.task.id].tests
        package = known.packages[0]
        place = str(PurePosixPath(known.import_roots[0], package))
        init = next(name for name in (f"{place}/__init__.py", f"{place}.py") if name in files)
        code = {path: text for path, text in files.items() if path == init or path.startswith(f"{place}/")}
        broken = {path: half_broken(text) for path, text in code.items()}
        return Base(package=package, init=init, broken=broken, tests=tests, original=files)

    def _context(self) -> GradingContext:
        scratch = self.folder / "scratch"
        scratch.mkdir(exist_ok=True)
        return GradingContext(provider=self.provider, builder=LocalBuilder(load(), self.provider), scratch=scratch)


def recipe_trial(name: str, provider: SandboxProvider, folder: Path) -> RecipeTrial:
    """Return the trial of the shipped recipe *name*; its environment comes from the package index or the cache."""
    suite = create(Settings(cache_dir=folder / "no-data"))
    task = next(task for task in suite.tasks() if task.id == name)
    return RecipeTrial(suite, task, provider, folder)


def half_broken(text: str) -> str:
    """Return *text* with every second public function made to return None."""
    tree = ast.parse(text)
    functions = [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    ]
    for node in functions[1::2]:
        node.body = [ast.Return(ast.Constant(None))]
    return ast.unparse(ast.fix_missing_locations(tree))
