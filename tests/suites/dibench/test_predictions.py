"""Forty predictions by hand: the row of each in `strict` and `official`, by arithmetic."""

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from groundup.grading.context import GradingContext
from groundup.manifests.records import Language
from groundup.registries.names import Ecosystem, Listing, NameLookup
from groundup.suites.dibench.dataset import InstanceSet
from groundup.suites.dibench.metrics import DependencyCounts
from groundup.suites.dibench.published import Reader, official_comparison
from groundup.suites.dibench.suite import DiBench
from groundup.suites.dibench.verdict_facts import existence_of, instance_score
from tests.runs.toy import ToyBuilder
from tests.sandbox.fake import FakeProvider
from tests.suites.dibench.made import write_tree
from tests.suites.dibench.predictions import LANGUAGES, Prediction, as_counts, table

ROWS = [
    pytest.param(language, row, id=f"{language}: {row.what}")
    for language in LANGUAGES
    for row in table(language).prediction
]


class Shelf:
    """A registry that has these packages and no others."""

    def __init__(self, packages: Mapping[str, tuple[str, ...]]) -> None:
        self._packages = packages

    def identity(self) -> Mapping[str, str]:
        """Return that it is one."""
        return {"registry": "shelf"}

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[NameLookup]:
        """Yield itself."""
        yield self

    async def look_up(self, ecosystem: Ecosystem, name: str) -> Listing | None:
        """Return what stands there under this very name."""
        versions = self._packages.get(name, ())
        return Listing(
            ecosystem=ecosystem, name=name, exists=bool(versions), versions=versions, fetched_at=datetime.now(UTC)
        )


def test_ten_a_language() -> None:
    """The tables hold forty predictions."""
    assert Counter(row.values[0] for row in ROWS) == dict.fromkeys(LANGUAGES, 10)


@pytest.mark.parametrize(("language", "row"), ROWS)
async def test_strict_counts_what_arithmetic_says(language: Language, row: Prediction, tmp_path: Path) -> None:
    """Names, exact declarations, declared elsewhere, and what no registry or repository has."""
    about = table(language)
    problem = about.problem(language, tmp_path / "repository")
    suite = DiBench(InstanceSet(problems=(problem,)), Shelf(about.packages))
    (task,) = suite.tasks()
    submission = write_tree(tmp_path / "submission", about.written(row))
    context = GradingContext(FakeProvider(), ToyBuilder(), tmp_path)
    graded = await suite.graders()["strict"].grade(task, submission, context)

    score = instance_score(task.id, graded.verdict)
    found = {kind.value: count for kind, count in existence_of(graded.verdict).items() if kind.value != "found"}
    assert (as_counts(score.total.name_only), as_counts(score.total.exact)) == (row.names, row.exact)
    assert (score.elsewhere, found) == (row.elsewhere, row.found)
    lost = Counter(one.message.partition(":")[0] for one in graded.tests if one.lost)
    undefined = row.found.get("internal-missing", 0)
    _, too_many, missing = (number - row.elsewhere - undefined for number in row.names)
    wanted = {"declared elsewhere": row.elsewhere, "no central definition": undefined}
    wanted |= {"one too many": too_many, "missing": missing}
    assert lost == Counter({message: number for message, number in wanted.items() if number})


@pytest.mark.parametrize(("language", "row"), ROWS)
def test_official_counts_what_the_published_code_does(language: Language, row: Prediction) -> None:
    """`python -m benchmarks.dibench_agreement` runs the published code itself on the same tables."""
    about = table(language)

    def reader(files: Mapping[str, str]) -> Reader:
        return lambda path: files[path].encode()

    found = official_comparison(language, list(about.original), reader(about.original), reader(about.written(row)))
    assert found is not None
    assert counted(found) == (row.official.names, row.official.exact)


def counted(found: DependencyCounts) -> tuple[object, object]:
    """Return counts as the tables write them."""
    return as_counts(found.name_only), as_counts(found.exact)
