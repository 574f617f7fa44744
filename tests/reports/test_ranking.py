"""Places of runs among each other: intervals that hold the true place."""

import json

import numpy as np
import pytest

from groundup.reports.comparison import task_means
from groundup.reports.formats import ShownComparison, ShownReport
from groundup.reports.statistics import ranks
from tests.effort import often
from tests.reports.made import Word, report_of, run_of


@pytest.mark.parametrize("means", [(0.7, 0.6, 0.5), (0.5, 0.5, 0.5, 0.5), (0.62, 0.6, 0.4, 0.38)])
def test_intervals_hold_the_true_ranks(means: tuple[float, ...]) -> None:
    """In 95 % of samples or more each run's interval holds its true place, also where runs are equal."""
    generator = np.random.default_rng(3)
    samples = often(150)
    held = np.zeros(len(means))
    for _ in range(samples):
        tasks = generator.normal(0, 0.3, size=60)  # what is hard is hard for all
        scores = [mean + tasks + generator.normal(0, 0.2, size=60) for mean in means]
        runs = [(str(n), {str(task): float(v) for task, v in enumerate(row)}) for n, row in enumerate(scores)]
        for one in ranks(runs):
            mean = means[int(one.run)]
            places = range(1 + sum(m > mean for m in means), 1 + sum(m >= mean for m in means))
            held[int(one.run)] += any(one.low <= place <= one.high for place in places)
    assert (held / samples).min() >= 0.9


def test_few_tasks_tell_places_apart_only_where_all_is_at_stake() -> None:
    """One run is full at each task and the other empty: with n tasks p is (1 / 2)^n, at most 5 % from five on."""
    for tasks, apart in ((2, False), (4, False), (5, True)):
        better, worse = ({str(task): value for task in range(tasks)} for value in (1.0, 0.0))
        found = ranks([("best", better), ("worst", worse)])
        places = [(1, 1), (2, 2)] if apart else [(1, 2), (1, 2)]
        assert [(one.low, one.high) for one in found] == places
        assert [(one.run, one.rank) for one in found] == [("best", 1), ("worst", 2)]


def test_places_are_corrected_for_all_pairs() -> None:
    """Of ten equal runs all share their places in 94 % of samples or more: 45 pairs are looked at."""
    generator = np.random.default_rng(8)
    samples = often(25)
    apart = 0
    for _ in range(samples):
        tasks = generator.uniform(0.2, 0.8, size=30)
        runs = [
            (
                str(number),
                {str(task): float(value) for task, value in enumerate(generator.binomial(20, tasks) / 20)},
            )
            for number in range(10)
        ]
        apart += any((one.low, one.high) != (1, 10) for one in ranks(runs))
    assert apart / samples <= 0.06


def test_what_surely_differs_has_one_place_and_what_does_not_has_several() -> None:
    """A run that is better at every task by the same is first for certain; equal runs share their places."""
    generator = np.random.default_rng(4)
    base = {str(task): float(value) for task, value in enumerate(generator.uniform(0, 0.5, size=40))}
    best = {task: value + 0.3 for task, value in base.items()}
    found = ranks([("one", base), ("twin", dict(base)), ("best", best)])
    assert [(one.run, one.rank, one.low, one.high) for one in found] == [
        ("best", 1, 1, 1),
        ("one", 2, 2, 3),
        ("twin", 2, 2, 3),
    ]


def test_only_shared_tasks_count() -> None:
    """Runs over different tasks are ranked by those that all have; fewer than two are not enough."""
    found = ranks([("a", {"x": 1.0, "y": 1.0, "z": 0.0}), ("b", {"x": 0.0, "y": 0.5})])
    assert [(one.run, one.tasks, one.score) for one in found] == [("a", 2, 1.0), ("b", 2, 0.25)]
    assert ranks([("a", {"x": 1.0}), ("b", {"x": 0.0})]) == ()
    assert ranks([]) == ()


def test_reports_of_three_runs_have_ranks_in_every_form() -> None:
    """Tables, comparison, HTML and JSON say the same; two runs have none."""
    words: list[dict[str, list[Word]]] = [
        {f"t{task}": [(min(task % 4 + more, 4), 4)] for task in range(12)} for more in (0, 1, 2)
    ]
    runs = [run_of(name, one) for name, one in zip("abc", words, strict=True)]
    report = report_of(runs)
    assert [one.run for one in report.ranks] == ["c", "b", "a"]
    assert report.ranks == ranks([(run.run_id, task_means(run)) for run in report.runs])
    made = ShownReport.of(report)
    title = "Ranks, over the 12 tasks that all runs have a score for"
    assert title in made.markdown()
    assert title in ShownComparison.of(report).markdown()
    assert title in made.written("html").decode()
    (best, *_) = report.ranks
    assert best.low < best.high
    assert f"| 1 | {best.low} to {best.high} | c |" in made.markdown()
    alone = report.but(ranks=(best.but(low=1, high=1),))
    assert "| 1 | 1 | c |" in ShownReport.of(alone).markdown()
    (first, *_) = json.loads(made.model_dump_json())["ranks"]
    assert (first["run"], first["rank"]) == ("c", 1)
    assert report_of(runs[:2]).ranks == ()
