"""A hundred predictions: what `strict` counts in the build files is what arithmetic counts on the lists."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from groundup.manifests.records import Language
from groundup.suites.dibench.answers import submitted
from groundup.suites.dibench.dataset import read_dataset
from groundup.suites.dibench.missed import text_score
from tests.suites.dibench.changed_lists import CASES, LANGUAGES, PREDICTIONS, Items
from tests.suites.dibench.executed import Tiny, write_tiny
from tests.suites.dibench.made import diff


def row(expected: Sequence[object], predicted: Sequence[object]) -> str:
    """Return right, too many and missing."""
    right = sum((Counter(expected) & Counter(predicted)).values())
    return f"{right} {len(predicted) - right} {len(expected) - right}"


@pytest.mark.parametrize(("name", "number", "handed_in", "meant"), CASES)
async def test_each_row_is_as_counted(
    name: Language, number: int, handed_in: Items, meant: Items, tmp_path: Path
) -> None:
    """By name, which is the name in code, and exactly."""
    language = LANGUAGES[name]
    masked = {language.path: language.written(())}
    tiny = Tiny(name, masked, {language.path: language.written(language.original)}, "on: push\njobs: {}\n")
    (problem,) = read_dataset(write_tiny(tmp_path / "data", {f"made{number}": tiny})).problems
    submission = tmp_path / "submission"
    submission.mkdir()
    patch = diff(masked, {language.path: language.written(handed_in)})
    if "@@" in patch:
        (submission / "patch.diff").write_text(patch)
    counts = (await text_score(problem, submitted(problem, submission), None)).counts.total
    told = [
        f"{one.true_positives} {one.false_positives} {one.false_negatives}"
        for one in (counts.name_only, counts.exact)
    ]
    assert told == [
        row([one.name for one in language.original], [one.name for one in meant]),
        row(language.original, meant),
    ]


def test_there_are_a_hundred() -> None:
    """Of each language as many, none twice."""
    assert Counter(name for name, *_ in CASES) == dict.fromkeys(LANGUAGES, PREDICTIONS)
