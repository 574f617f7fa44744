"""`groundup demo` follows the recipes, and `groundup docs` has the pages that help and messages name."""

import re
from pathlib import Path

import pytest

from groundup.cli.demo import PYTHON, RIGHT, TASK, WRONG, free_ending, prepare
from groundup.settings import Settings
from groundup.suites.nl2repobench.suite import create
from tests.cli.conftest import Groundup

SOURCES = Path(__file__).parents[2] / "src" / "groundup"


def test_the_demo_s_task_has_the_interpreter_that_it_looks_for(tmp_path: Path) -> None:
    """`groundup demo` looks whether it is on the machine, so it must not be wrong about what the recipe needs."""
    tasks = {task.id: task for task in create(Settings(cache_dir=tmp_path)).tasks()}
    assert tasks[TASK].metadata["python"] == PYTHON
    assert RIGHT != WRONG


def test_without_that_interpreter_another_stands_in(tmp_path: Path) -> None:
    """The folder's settings say so, for every command in it; the recipe's own is noted beside each verdict."""
    prepare(tmp_path / "demo", "3.13")
    assert (tmp_path / "demo/groundup.toml").read_text().endswith('/cache"\npython = "3.13"\n')
    suite = create(Settings(cache_dir=tmp_path, python="3.13"))
    assert {task.metadata["python"] for task in suite.tasks()} == {"3.13"}
    assert suite.needs(suite.tasks()[0]).python == "3.13"


def test_a_demo_takes_only_a_folder_of_its_own(groundup: Groundup, tmp_path: Path) -> None:
    """In a user's folder it ends with 2 and changes nothing; an older demo's folder, or a new one, is its own."""
    work = tmp_path / "work"
    for path, text in {
        "groundup.toml": "[settings]\njobs = 1\n",
        "runs/r/notes": "a",
        "predictions/p": "b",
    }.items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(text)
    before = contents(work)
    refused = groundup("demo", "--folder", work)
    assert (refused.code, contents(work)) == (2, before)
    assert "name a new folder with --folder" in refused.err
    assert groundup("demo", "--folder", work / "groundup.toml").code == 2
    older = tmp_path / "older"
    older.mkdir()
    (older / "groundup.toml").write_text(f'[settings]\ncache_dir = "{older}/cache"\n')
    (older / "notes").touch()
    prepare(older, None)


def test_a_second_demo_keeps_what_is_in_its_folder(tmp_path: Path) -> None:
    """Its settings may have been edited, and the tutorial's runs stay: a demo takes names that are free."""
    here = tmp_path / ".demo"
    prepare(here, None)
    assert "cache_dir" in (here / "groundup.toml").read_text()
    assert free_ending(here) == ""
    (here / "groundup.toml").write_text("[settings]\njobs = 1\n")
    (here / "runs" / "broken").mkdir(parents=True)
    prepare(here, None)
    assert (here / "groundup.toml").read_text() == "[settings]\njobs = 1\n"
    assert free_ending(here) == "-2"
    (here / "predictions-2").mkdir()
    assert free_ending(here) == "-3"


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


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
