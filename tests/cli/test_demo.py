"""`groundup demo` follows the recipes, and `groundup docs` has the pages that help and messages name."""

import re
from pathlib import Path

import pytest

from groundup.cli.demo import LIBRARIES
from groundup.settings import Settings
from groundup.suites.nl2repobench.suite import create
from tests.cli.conftest import Groundup

SOURCES = Path(__file__).parents[2] / "src" / "groundup"


def test_the_demo_s_libraries_have_recipes_for_the_interpreters_that_it_looks_for(tmp_path: Path) -> None:
    """`groundup demo` chooses by what is on the machine, so it must not be wrong about what a recipe needs."""
    tasks = {task.id: task for task in create(Settings(cache_dir=tmp_path)).tasks()}
    for library in LIBRARIES:
        assert tasks[library.task].metadata["python"] == library.python
        assert library.right != library.wrong


def test_every_page_that_a_message_names_can_be_read(groundup: Groundup) -> None:
    """Help and errors say `docs/runs.md`; who installed the package has no such file, and asks `groundup docs`."""
    named = {
        page
        for path in SOURCES.rglob("*.py")
        if "oracles" not in path.parts
        for page in re.findall(r"docs/[a-z0-9-]+\.md", path.read_text(encoding="utf-8"))
    }
    assert "docs/recipes.md" in named
    listed = groundup("docs").out
    for page in sorted(named):
        assert groundup("docs", page).out.startswith("# "), page
        assert Path(page).stem in listed


@pytest.mark.parametrize("page", ["run", "../README"])
def test_a_page_that_does_not_exist_is_refused(groundup: Groundup, page: str) -> None:
    """Only pages of the documentation are printed."""
    assert groundup("docs", page).code == 2
