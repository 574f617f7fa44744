"""Forty predictions by hand, ten a language: the TOML files beside this one, as records."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic import Field

from groundup.domain.records import Record
from groundup.manifests.records import Language
from groundup.suites.dibench.dataset import Instance, InstanceProblem
from groundup.suites.dibench.metrics import MatchCounts
from tests.suites.dibench.made import diff, instance, write_tree

LANGUAGES: tuple[Language, ...] = ("python", "javascript", "rust", "csharp")
Counts = tuple[int, int, int]
"""Right, too many, missing."""


class OfficialCounts(Record):
    """What the published code counts."""

    names: Counts
    exact: Counts


class Prediction(Record):
    """One mistake or none, what is to be counted, and what the ecosystem's client says."""

    what: str = Field(alias="is")
    instead: Mapping[str, str] = Field(default={}, description="what stands in the place of what of the original")
    files: Mapping[str, str] = Field(default={}, description="whole build files")
    names: Counts
    exact: Counts
    elsewhere: int = 0
    found: Mapping[str, int] = Field(default={}, description="what looking up finds besides what exists")
    official: OfficialCounts
    client: tuple[str, ...] = Field(default=(), description="what it has at run time")
    error: str = Field(default="", description="what it says instead")


class Table(Record):
    """The predictions of one language, and what they are about."""

    client: str
    packages: Mapping[str, tuple[str, ...]] = Field(description="versions of all packages that exist")
    original: Mapping[str, str]
    masked: Mapping[str, str]
    beside: Mapping[str, str] = {}
    prediction: tuple[Prediction, ...]

    def problem(self, language: Language, root: Path) -> InstanceProblem:
        """Write the masked repository to *root* and return the problem."""
        fields = instance(
            "one_alpha", language=language, patch=diff(self.masked, self.original), build_files=list(self.original)
        )
        repository = write_tree(root, {**self.masked, **self.beside})
        return InstanceProblem(
            id="table", subset="regular", instance=Instance.model_validate(fields), repository=repository
        )

    def written(self, prediction: Prediction) -> dict[str, str]:
        """Return the build files of *prediction*."""
        if prediction.files:
            return dict(prediction.files)
        files = dict(self.original)
        for old, new in prediction.instead.items():
            (path,) = (path for path, text in files.items() if old in text)
            assert files[path].count(old) == 1, old
            files[path] = files[path].replace(old, new)
        return files


@cache
def table(language: Language) -> Table:
    """Return the table of *language*."""
    path = Path(__file__).with_name(f"{language}.toml")
    return Table.model_validate(tomllib.loads(path.read_text()))


def as_counts(counts: MatchCounts) -> Counts:
    """Return counts as the tables write them."""
    return counts.true_positives, counts.false_positives, counts.false_negatives
