"""The suite as runs and the command line see it."""

import csv
from collections import Counter
from pathlib import Path
from typing import Literal, cast

import pytest

from groundup.domain.errors import TaskError
from groundup.domain.limits import Limits
from groundup.domain.subjects import AttemptKey
from groundup.environments.installed_tools import python_at_hand
from groundup.episodes.loading import find_grader
from groundup.grading.context import GradingContext
from groundup.sandbox.protocol import SandboxProvider
from groundup.settings import Settings, load
from groundup.suites.nl2repobench.listing import categories, difficulties
from groundup.suites.nl2repobench.published import PublishedData, PublishedTask
from groundup.suites.nl2repobench.recipe import RecipeSource
from groundup.suites.nl2repobench.suite import Nl2RepoBench, by_category, create
from groundup.suites.places import data_folder
from groundup.trees.digest import tree_digest
from tests.grading.library.laboratory import ORIGINAL, HostBuilder, write_tree
from tests.needs import lack
from tests.suites.nl2repobench.trials import RECIPE

SPECIFIED = PublishedData(
    version="ae9fb81",
    tasks=(
        PublishedTask(id="calc", text="Write calc.", commands=("pytest",), test_files=("tests",), declared=7),
        PublishedTask(id="other", text="Other.", commands=("pytest",), test_files=(), declared=3),
    ),
)


def test_without_data_a_task_has_no_instruction_and_can_still_be_graded(tmp_path: Path) -> None:
    """A machine that has only the package evaluates submissions; declared counts are those of the named data."""
    suite = create(Settings(cache_dir=tmp_path))
    tasks = {task.id: task for task in suite.tasks()}

    assert tasks["sqlparse"].instruction is None
    assert tasks["sqlparse"].data_version == "781a1da"
    assert tasks["sqlparse"].metadata["declared"] == 461
    assert list(tasks) == sorted(tasks)
    assert suite.default_grader in suite.graders()


def test_with_data_a_task_names_its_version_and_count() -> None:
    """The specification, the declared count and the data version come from the data that is at hand."""
    task = Nl2RepoBench({"calc": RECIPE}, SPECIFIED).tasks()[0]

    assert (task.instruction, task.data_version, task.metadata["declared"]) == ("Write calc.", "ae9fb81", 7)


def test_a_task_without_a_recipe_is_listed_and_not_run_unasked() -> None:
    """Published tasks are all there; what no one can grade yet is not among those that a run takes by itself."""
    suite = Nl2RepoBench({"calc": RECIPE}, SPECIFIED)
    calc, other = suite.tasks()

    assert (calc.id, other.id, list(suite.gradable())) == ("calc", "other", ["calc"])
    assert (other.instruction, other.metadata["declared"], other.metadata["expected"]) == ("Other.", 3, None)


@pytest.mark.parametrize("grader", ["strict", "official"])
async def test_a_task_without_a_recipe_says_how_to_get_one(tmp_path: Path, grader: str) -> None:
    """Asked for by name, it is the task that is at fault, and the error says what to do."""
    suite = Nl2RepoBench({}, SPECIFIED)
    task = suite.tasks()[0]
    judge = suite.graders()[grader]
    context = GradingContext(provider=cast(SandboxProvider, None), builder=HostBuilder(tmp_path), scratch=tmp_path)

    assert judge.identity(task)["recipe"] is None
    assert (judge.reservation_mb(task), judge.expected_s(task)) == (2048, 0.0)
    with pytest.raises(TaskError, match="groundup recipe build calc"):
        await judge.grade(task, tmp_path, context)
    with pytest.raises(TaskError, match="groundup recipe build calc"):
        await suite.reference(task, "oracle", tmp_path, context)


@pytest.mark.parametrize("grader", ["strict", "official"])
def test_what_took_long_when_it_was_frozen_begins_first(grader: str) -> None:
    """What was never frozen is nobody's guess, and begins after all others."""
    suite = create(Settings())
    tasks, judge = suite.by_name(), suite.graders()[grader]
    seconds = {name: judge.expected_s(tasks[name]) for name in suite.gradable()}
    assert max(seconds.values()) > 60 > min(seconds.values()) > 0
    unfrozen = Nl2RepoBench({"calc": RECIPE.but(frozen=None)}, SPECIFIED)
    assert unfrozen.graders()[grader].expected_s(unfrozen.tasks()[0]) == 0.0


def test_a_task_holds_nothing_of_its_oracle() -> None:
    """What an agent gets to see names no hidden test and no source of the original."""
    task = Nl2RepoBench({"calc": RECIPE}, SPECIFIED).tasks()[0]
    text = task.model_dump_json()

    assert "test_multiply" not in text
    assert isinstance(RECIPE.source, RecipeSource)
    assert RECIPE.source.sha256 not in text
    assert task.limits == Limits(cpus=1, memory_mb=2048)


def test_rows_show_what_is_at_hand() -> None:
    """The list of tasks tells expected and declared counts apart, and whether the specification is there."""
    columns, rows = Nl2RepoBench({"calc": RECIPE}, SPECIFIED).task_rows()
    shown, bare = (dict(zip(columns, row, strict=True)) for row in rows)

    assert shown == {
        "task": "calc",
        "difficulty": "-",
        "lines": str(RECIPE.frozen.original_lines if RECIPE.frozen else None),
        "category": "-",
        "specification": "yes",
        "here": "yes" if python_at_hand("3.11") else "no Python 3.11",
        "original": "calc-lab 1.2.3",
        "python": "3.11",
        "expected": "8",
        "declared": "7",
    }
    assert {name for name, value in bare.items() if value == "-"} == {
        "difficulty",
        "lines",
        "category",
        "original",
        "python",
        "expected",
    }
    assert (bare["here"], bare["declared"]) == ("no recipe", "3")


@pytest.mark.parametrize(("kind", "files"), [("oracle", len(ORIGINAL)), ("nop", 0)])
async def test_references_are_the_original_and_nothing(tmp_path: Path, kind: str, files: int) -> None:
    """The oracle hands in the original's whole tree, the no-op an empty folder."""
    suite = Nl2RepoBench({"calc": RECIPE})
    destination = write_tree(tmp_path / "submission", {})
    # Writing a reference opens no sandbox.
    context = GradingContext(provider=cast(SandboxProvider, None), builder=HostBuilder(tmp_path), scratch=tmp_path)
    await suite.reference(suite.tasks()[0], "oracle" if kind == "oracle" else "nop", destination, context)

    assert tree_digest(destination).files == files


def test_what_the_golden_trace_graded_is_graded_again_by_the_full_check(tmp_path: Path) -> None:
    """Earlier runs name a grader that is gone; `regrade` takes the one that looks as closely."""
    suite = create(Settings(cache_dir=tmp_path))

    assert find_grader(suite, "trace").name == "full"
    assert sorted(suite.graders()) == ["full", "official", "strict"]


def test_every_task_has_a_category_and_the_sums_are_the_published_ones(tmp_path: Path) -> None:
    """Which task is in which was decided here; how many are in each was published."""
    found = Counter(categories().values())
    assert found == {
        "System Tools": 24,
        "Data Analysis & Processing": 18,
        "Testing": 13,
        "Utility Libraries": 11,
        "Web Development": 10,
        "Networking Tools": 9,
        "Database Interaction": 7,
        "Machine Learning": 7,
        "Batch File Processing": 5,
    }
    suite = create(Settings(cache_dir=tmp_path))
    assert all(task.metadata["category"] in found for task in suite.tasks())


def test_every_task_has_the_difficulty_that_the_publishers_list(tmp_path: Path) -> None:
    """All 104, by the numbers of the paper; an original's lines are a column of their own."""
    assert Counter(difficulties().values()) == {"easy": 26, "medium": 46, "hard": 32}
    columns, rows = create(Settings(cache_dir=tmp_path)).task_rows()
    shown = {row[0]: dict(zip(columns, row, strict=True)) for row in rows}
    assert all(row["difficulty"] == difficulties()[name] for name, row in shown.items())
    assert (shown["cachier"]["difficulty"], shown["cachier"]["lines"]) == ("hard", "2106")


def test_the_difficulty_is_the_one_in_the_pulled_data() -> None:
    """Task by task, in the publishers' own spelling, where their data is at hand."""
    folder = data_folder("nl2repobench", load())
    listed = None if folder is None else next(folder.rglob("task_difficulty.csv"), None)
    if listed is None:
        lack("data of NL2RepoBench", "run `groundup data pull nl2repobench`")
    with listed.open(encoding="utf-8", newline="") as file:
        published = {row["task-name"].lower(): row["Level"].lower() for row in csv.DictReader(file)}
    assert {name.lower(): level for name, level in difficulties().items()} == published


def test_tasks_can_be_chosen_by_difficulty_and_category(tmp_path: Path) -> None:
    """By names that a command line takes without quotes."""
    suite = create(Settings(cache_dir=tmp_path))
    groups = suite.groups()
    assert "tinydb" in groups["database-interaction"]
    assert set(groups) > {"easy", "medium", "hard", "data-analysis-processing", "batch-file-processing"}


def test_the_table_by_category_names_whose_assignment_it_is() -> None:
    """Every task of a category counts in it, whatever else was run."""
    found = by_category({AttemptKey(task="tinydb"): None, AttemptKey(task="pytz"): None})
    assert list(found.scores) == ["all", "Utility Libraries", "Database Interaction"]
    assert "decided here" in found.notes[0]


@pytest.mark.parametrize("wanted", ["task", "empty"])
def test_agents_get_what_the_image_has_unless_the_user_says_otherwise(
    wanted: Literal["task", "empty"], tmp_path: Path
) -> None:
    """jsonlines needs attrs; the library itself is never there."""
    suite = create(Settings(cache_dir=tmp_path, agent_environment=wanted))
    (task,) = (task for task in suite.tasks() if task.id == "jsonlines")
    request = suite.agent_environment(task)
    lines = () if request is None else request.requirements
    assert any(line.startswith("attrs==") for line in lines) is (wanted == "task")
    assert not any(line.startswith("jsonlines==") for line in lines)
