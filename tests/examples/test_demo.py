"""The demo follows the recipes: it names tasks, interpreters and files that exist."""

import runpy
from pathlib import Path

from groundup.settings import Settings
from groundup.suites.nl2repobench.suite import create

DEMO = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "demo.py"))


def test_the_demo_s_libraries_have_recipes_for_the_interpreters_that_it_looks_for(tmp_path: Path) -> None:
    """`make demo` chooses by what is on the machine, so it must not be wrong about what a recipe needs."""
    tasks = {task.id: task for task in create(Settings(cache_dir=tmp_path)).tasks()}
    for library in DEMO["LIBRARIES"]:
        assert tasks[library.task].metadata["python"] == library.python
        assert library.right != library.wrong
