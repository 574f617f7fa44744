"""A recipe that was just made is graded as a run would grade it, before anything is made of it."""

from pathlib import Path

import pytest

from groundup.domain.errors import TaskError
from groundup.grading.context import GradingContext
from groundup_factory.recipes.losses import compiled_parts
from groundup_factory.recipes.sound import refuse_unsound
from tests.grading.library.laboratory import ORIGINAL, HostBuilder, write_tree
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
