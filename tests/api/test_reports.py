"""Reports and listings: what they hold, as rows for data frames and as HTML for notebooks."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

import groundup
from groundup.settings import Settings
from tests.api.conftest import Predict
from tests.runs.configurations import TWO


@pytest.fixture
def two_runs(predict: Predict, settings: Settings) -> tuple[groundup.Run, groundup.Run]:
    """A run with half a score and a hole, and one with everything."""
    predictions = predict({"task-0000": "half"})
    return (
        groundup.evaluate(TWO, predictions, run_id="base", settings=settings),
        groundup.run(TWO, "oracle", run_id="other", settings=settings),
    )


def check_rows(rows: list[dict[str, str | int | float | bool | None]]) -> None:
    """Assert that data frames take *rows*: the same keys everywhere, plain values."""
    assert rows
    assert len({tuple(row) for row in rows}) == 1
    assert all(value is None or isinstance(value, str | int | float) for row in rows for value in row.values())


def test_a_report_gives_a_flat_row_per_attempt(
    two_runs: tuple[groundup.Run, groundup.Run], settings: Settings
) -> None:
    """Run, subject, task, score with its parts, why points were lost, and what it took."""
    report = groundup.report("base", two_runs[1].folder, settings=settings)
    rows = report.rows()
    check_rows(rows)
    half, hole, full, _ = rows
    assert (half["run"], half["task"], half["attempt"], half["standing"]) == ("base", "task-0000", 0, "graded")
    assert (half["score"], half["numerator"], half["denominator"]) == (0.5, 1, 2)
    assert (half["stage"], half["why"]) == ("test", "test: one failed; test: 1 test lost, first second: failed")
    assert (hole["standing"], hole["score"], hole["counted"]) == ("not_attempted", None, 0.0)
    assert (full["agent"], full["score"]) == ("oracle", 1.0)


def test_a_report_is_what_the_command_line_prints_as_json(
    two_runs: tuple[groundup.Run, groundup.Run], settings: Settings, tmp_path: Path
) -> None:
    """The fields are the same, and a saved report can be read again: its line says that nothing checked it."""
    report = groundup.report("base", settings=settings)
    assert json.loads(report.model_dump_json()) == json.loads((two_runs[0].folder / "report.json").read_text())
    (tmp_path / "saved.json").write_text(report.model_dump_json())
    (again,) = groundup.report(tmp_path / "saved.json", settings=settings).runs
    (run,) = report.runs
    assert again.run_id == "base (not checked)"
    assert again.but(run_id="base", warnings=again.warnings[1:]) == run
    assert "task-0000" in report.markdown()
    assert "task-0000" in str(report)
    assert report.headlines() == ["base: 1 of 2 tasks was attempted: 50.0 %; over all 2: 25.0 %"]
    assert "below --fail-under" in str(report.below(0.5))
    assert report.below(0.25) is None


def test_a_comparison_gives_a_row_per_task(
    two_runs: tuple[groundup.Run, groundup.Run], predict: Predict, settings: Settings
) -> None:
    """Scores of both and their difference; runs of different suites are refused."""
    compared = groundup.compare("base", "other", settings=settings)
    rows = compared.rows()
    check_rows(rows)
    assert [(row["task"], row["difference"]) for row in rows] == [("task-0000", 0.5), ("task-0001", 1.0)]
    with pytest.raises(groundup.UsageError, match="did you mean 'other'"):
        groundup.compare("base", "othr", settings=settings)
    failed = groundup.evaluate(
        TWO, predict({"bad/task-0000": "infrastructure"}) / "bad", run_id="failed",
        settings=settings.but(retries=0),
    )  # fmt: skip
    lone = groundup.compare("base", failed.folder, settings=settings).rows()
    check_rows(lone)
    assert {(row["task"], row["base_score"]) for row in lone} == {("task-0000", None), ("task-0001", 0.0)}


class Tags(HTMLParser):
    """Collects tags and texts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        assert not attrs
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        """Note a text."""
        self.texts.append(data)


def test_notebooks_show_tables_and_nothing_of_a_stranger_s_making(predict: Predict, settings: Settings) -> None:
    """Names and messages are escaped: no tag, no attribute and no control character comes from them."""
    hostile = "<script>alert(1)</script>\x1b[31m"
    run = groundup.evaluate(TWO, predict({"task-0000": "pass"}), run_id="r", model_name=hostile, settings=settings)
    for shown in (
        run,
        run.report,
        groundup.compare("r", "r", settings=settings),
        groundup.list_runs(settings=settings),
    ):
        text = shown._repr_html_()
        tags = Tags()
        tags.feed(text)
        assert tags.tags <= {"div", "h4", "p", "table", "tr", "th", "td"}
        assert "\x1b" not in text
        assert any("<script>" in part for part in tags.texts)


def test_tasks_suites_and_runs_are_listed(settings: Settings) -> None:
    """Listings are sequences of records, with rows and HTML."""
    groundup.run(TWO, "oracle", run_id="r", settings=settings)
    tasks = groundup.tasks(TWO, settings=settings)
    assert [task.id for task in tasks] == ["task-0000", "task-0001"]
    assert tasks[0].last_oracle is not None
    assert tasks[-1:][0].id == "task-0001"
    check_rows(tasks.rows())
    assert "task-0001" in tasks._repr_html_()
    (run,) = groundup.list_runs(settings=settings)
    assert (run.run, run.subject, run.pending) == ("r", "oracle", 0)
    assert {"nl2repobench", "dibench", "repogenesis"} <= {
        suite.name for suite in groundup.list_suites(settings=settings)
    }
    with pytest.raises(groundup.UsageError, match="did you mean 'dibench'"):
        groundup.tasks("dibensh", settings=settings)


async def test_the_twins_give_the_same(settings: Settings) -> None:
    """Reading and listing hold no event loop up."""
    await groundup.run_async(TWO, "oracle", run_id="r", settings=settings)
    assert await groundup.report_async("r", settings=settings) == groundup.report("r", settings=settings)
    compared = await groundup.compare_async("r", "r", settings=settings)
    assert compared == groundup.compare("r", "r", settings=settings)
    assert len(await groundup.tasks_async(TWO, settings=settings)) == 2
    assert len(await groundup.list_runs_async(settings=settings)) == 1
    assert await groundup.list_suites_async(settings=settings)
