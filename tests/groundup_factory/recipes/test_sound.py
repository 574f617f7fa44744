"""A recipe that was just made is graded as a run would grade it, before anything is made of it."""

from pathlib import Path

import pytest

from groundup.domain.errors import InfrastructureError, TaskError
from groundup.domain.verdicts import Status
from groundup.grading.context import GradingContext
from groundup.suites.base import Graded
from groundup.suites.nl2repobench.strict import NL2RepoStrictGrader
from groundup_factory.recipes.losses import compiled_parts
from groundup_factory.recipes.sound import refuse_unsound
from tests.grading.library.laboratory import ORIGINAL, HostBuilder, write_tree
from tests.groundup_factory.test_audit_findings import graded
from tests.suites.nl2repobench.trials import RECIPE, Trial


def _context(trial: Trial) -> GradingContext:
    scratch = trial.folder / "scratch"
    scratch.mkdir()
    return GradingContext(provider=trial.provider, builder=HostBuilder(trial.folder), scratch=scratch)


@pytest.mark.end_to_end
async def test_the_original_gets_all_and_nothing_gets_none(trial: Trial) -> None:
    """What does not, such as an original whose frozen tests do not pass again, is refused by a test's name."""
    original = write_tree(trial.folder / "original", ORIGINAL)
    context = _context(trial)

    await refuse_unsound(RECIPE, original, context)
    changed = ORIGINAL["calc/__init__.py"].replace("a * b", "a + b")
    other = write_tree(trial.folder / "other", {**ORIGINAL, "calc/__init__.py": changed})
    with pytest.raises(TaskError, match=r"the original loses tests/test_calc\.py::test_multiply"):
        await refuse_unsound(RECIPE, other, context)


async def test_a_sandbox_that_fails_is_no_fault_of_the_tests(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where only the empty folder has no verdict: the entry is tried again, and not rejected."""
    broken = graded({}, status=Status.INFRASTRUCTURE)
    told = iter([graded({str(test): "passed" for test in RECIPE.expected}), broken])

    async def grade(*_: object) -> Graded:
        return next(told)

    monkeypatch.setattr(NL2RepoStrictGrader, "grade", grade)

    with pytest.raises(InfrastructureError):
        await refuse_unsound(RECIPE, trial.folder, _context(trial))


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"a/__init__.py": "", "setup.py": "setup()"}, ""),
        ({"a/fast.pyx": ""}, "a/fast.pyx"),
        ({"setup.py": "setup(ext_modules=[Extension('a', [])])"}, "setup.py"),
        ({"rust/Cargo.toml": "", "setup.py": "Extension()"}, "rust/Cargo.toml"),
    ],
)
def test_a_library_that_is_compiled_is_told_by_its_file(tmp_path: Path, files: dict[str, str], found: str) -> None:
    """So that a set counts it as such, and not as tests that fail."""
    assert compiled_parts(write_tree(tmp_path, files)) == found
