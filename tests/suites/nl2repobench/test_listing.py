"""The table of tasks is the same whether recipes are read whole or only their heads."""

import sys
from importlib.resources import files
from pathlib import Path

import pytest

from groundup.api.listings import environment
from groundup.domain.errors import TaskError, UsageError
from groundup.environments.installed_tools import python_at_hand
from groundup.environments.interpreters import running_minor
from groundup.environments.layers import Built, LayerStore
from groundup.environments.requests import GitSource
from groundup.environments.sources import commit_key
from groundup.suites.nl2repobench import listing
from groundup.suites.nl2repobench.published import PublishedData, PublishedTask
from groundup.suites.nl2repobench.recipe import RecipeFolder, shipped_recipes
from groundup.suites.nl2repobench.suite import Nl2RepoBench


@pytest.mark.parametrize("task", shipped_recipes())
def test_the_head_of_a_recipe_says_what_the_whole_recipe_does(task: str) -> None:
    """What a list shows is read without the rest."""
    assert listing.shipped_summaries()[task] == shipped_recipes()[task].summary()


@pytest.mark.needs("git")
def test_without_data_the_listing_is_the_suites_table(tmp_path: Path) -> None:
    """What `groundup tasks` prints first does not change when a run or a setting makes it ask the suite."""
    suite = Nl2RepoBench(shipped_recipes(), cache_dir=tmp_path)
    assert listing.shipped_rows(tmp_path) == (suite.version, *suite.task_rows())


def test_the_listing_says_what_this_machine_can_grade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing interpreter, program or Git is named; what uv fetched is found; no recipe has its reason."""
    for name in ("PATH", "HOME", "UV_PYTHON_INSTALL_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.delenv("PYENV_ROOT", raising=False)
    other = "3.7" if sys.version_info[:2] != (3, 7) else "3.8"
    suite = Nl2RepoBench({}, cache_dir=tmp_path, heads={"a": listing.RecipeHead("a 1", other, 1, {}, 10)})
    python_at_hand.cache_clear()
    assert suite.task_rows()[1][0][:2] == ("a", f"no Python {other}")
    (tmp_path / "interpreters" / f"cpython-{other}.9-linux").mkdir(parents=True)
    python_at_hand.cache_clear()
    assert suite.task_rows()[1][0][:2] == ("a", "yes")
    starting = listing.RecipeHead("a 1", other, 1, {}, 10, programs=("Xvfb",))
    assert Nl2RepoBench({}, cache_dir=tmp_path, heads={"a": starting}).task_rows()[1][0][:2] == ("a", "no Xvfb")
    python_at_hand.cache_clear()

    running = f"{sys.version_info[0]}.{sys.version_info[1]}"
    by_git = listing.RecipeHead("a 1", running, 1, {}, 10, by_git_only=True)
    assert Nl2RepoBench({}, cache_dir=tmp_path, heads={"a": by_git}).task_rows()[1][0][:2] == ("a", "no git")

    task = PublishedTask(id="autorccar", text="s", commands=("pytest",), test_files=(), declared=13)
    blocked = Nl2RepoBench({}, PublishedData(tasks=(task,), version="v"), heads={})
    assert blocked.task_rows()[1][0][:2] == ("autorccar", "in its image only")
    assert blocked.blocked()["autorccar"].startswith("is graded in its published image alone")
    assert [*blocked.in_image_only()] == ["autorccar"]
    imaged = Nl2RepoBench({}, PublishedData(tasks=(task,), version="v"), heads={}, has_images=True)
    assert imaged.task_rows()[1][0][:2] == ("autorccar", "yes, in its image")
    with pytest.raises(TaskError, match="autorccar is graded in its published image alone"):
        blocked.graders()["strict"].check(blocked.by_name()["autorccar"])


async def test_an_original_that_was_fetched_needs_no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where all came by `groundup warm --bundle`; others whose archives differ wait for Git."""
    monkeypatch.setenv("PATH", str(tmp_path))
    recipes = {name: one for name, one in shipped_recipes().items() if one.summary().by_git_only}
    fetched, other, *_ = recipes
    source = recipes[fetched].source_request()
    assert isinstance(source, GitSource)

    async def fill(room: Path) -> Built:
        (room / "tree").mkdir()
        return Built()

    await LayerStore(tmp_path / "layers").get("source", commit_key(source), fill)
    heads = {
        name: recipes[name].summary()._replace(python=running_minor(), programs=()) for name in (fetched, other)
    }
    suite = Nl2RepoBench(recipes, cache_dir=tmp_path, heads=heads)
    assert {row[0]: row[1] for row in suite.task_rows()[1]} == {fetched: "yes", other: "no git"}


def test_only_the_recipe_that_is_asked_for_is_read(tmp_path: Path) -> None:
    """All of them take half a second; a task with a broken recipe is in the way of no other."""
    six = (files("groundup.suites.nl2repobench") / "recipes" / "six.toml").read_text(encoding="utf-8")
    for name, text in {"six": six, "broken": "?", "other": six}.items():
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
    recipes, head = RecipeFolder(tmp_path), shipped_recipes()["six"].summary()
    suite = Nl2RepoBench(recipes, heads=dict.fromkeys(recipes, head))

    assert suite.gradable() == [task.id for task in suite.tasks()] == ["broken", "other", "six"]
    assert suite.needs(suite.tasks()[2]).python == head.python
    with pytest.raises(TaskError, match="not valid TOML"):
        suite.needs(suite.tasks()[0])
    with pytest.raises(TaskError, match="holds the recipe of 'six'"):
        suite.needs(suite.tasks()[1])


def test_the_environment_of_a_task_is_what_its_recipe_pins() -> None:
    """Who declares a requirement sees beforehand whether the tests have it."""
    found = environment("nl2repobench", "emoji")
    recipe = shipped_recipes()["emoji"].environment
    assert found.python == recipe.python
    assert set(found.packages) == set(recipe.lock)
    assert not any(one.startswith("typing-extensions") for one in found.packages)
    assert not found.installs_declared
    with pytest.raises(UsageError, match="did you mean 'emoji'"):
        environment("nl2repobench", "emojy")
