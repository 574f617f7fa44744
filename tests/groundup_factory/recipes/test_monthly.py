"""The monthly check in CI: its parts hold every recipe once."""

from pathlib import Path

from groundup.suites.nl2repobench.recipe import expected_seconds, shipped_recipes
from groundup.workflows.workflow import read_workflow
from groundup_factory.recipes.table import shard

WORKFLOW = Path(__file__).parents[3] / ".github" / "workflows" / "recipes.yml"


def test_the_parts_hold_every_recipe_once_and_take_about_equally_long() -> None:
    """No recipe is left out or checked twice, and no part holds two recipes' time more than another."""
    recipes = shipped_recipes()
    parts = [shard(recipes, number, 16) for number in range(1, 17)]

    assert sorted(task for part in parts for task in part) == sorted(recipes)
    times = [sum(expected_seconds(recipes[task]) for task in part) for part in parts]
    assert max(times) - min(times) <= max(map(expected_seconds, recipes.values()))


def test_the_workflow_runs_every_month_and_asks_for_every_part() -> None:
    """Its matrix counts up to the number of parts that its command names."""
    workflow = read_workflow(WORKFLOW.read_bytes(), WORKFLOW.name)
    (job,) = workflow.jobs
    parts = job.matrix.axes["shard"]
    (command,) = (step.run for step in job.steps if step.run and "recipe check" in step.run)

    assert "schedule" in workflow.events
    assert list(parts) == list(range(1, len(parts) + 1))
    assert f"--all --shard ${{{{ matrix.shard }}}}/{len(parts)} " in command
