"""What became of the repositories of a set's list: how many survived each step, and why the others did not."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import Field

from groundup.domain.errors import UsageError
from groundup.domain.names import unknown
from groundup.domain.records import Record
from groundup.reports.plots import Plot, PlotBar, PlotRow, coloured
from groundup.suites.sets import SetKindName, read_manifest
from groundup_factory.instance_sets import InstanceSets
from groundup_factory.library_sets import LibrarySets
from groundup_factory.service_sets import ServiceSets
from groundup_factory.set_entries import EVIDENCE, SetEntry, read_entries
from groundup_factory.spending import ModelSpending, read_spending, size_of, summed

NO_LANGUAGE = "unknown"


class YieldRow(Record):
    """The repositories of one language, or all."""

    language: str
    asked: int
    survived: dict[str, int] = Field(description="step -> how many ended after it, or were accepted")
    failed: int = Field(description="by the machine or the network, or for the budget; they are pending")


class YieldCause(Record):
    """How many repositories of a language ended at a step for one cause."""

    step: str
    cause: str
    language: str
    count: int


class SetReport(Record):
    """The yield of a set."""

    label: str
    steps: tuple[str, ...]
    rows: tuple[YieldRow, ...] = Field(description="by language; the last one is of all")
    causes: tuple[YieldCause, ...] = Field(description="the most frequent first")
    entries: tuple[SetEntry, ...]
    seconds: float = Field(description="of all entries together, as a clock on the wall counts them")
    processor_s: float = Field(description="of all entries together")
    layers_mb: float = Field(description="of environments that came to the cache meanwhile")
    set_mb: float = Field(description="of the set's own folder")
    models: tuple[ModelSpending, ...] = Field(default=(), description="that were asked, with what they cost")

    @property
    def costs(self) -> str:
        """What an entry takes, in a sentence."""
        number, tasks = len(self.entries) or 1, sum(one.standing == "accepted" for one in self.entries)
        each = f"{self.processor_s / number:.0f} s of processor time, {self.layers_mb / number:.1f} MB of layers"
        task = f"; a task {self.processor_s / tasks:.0f} s" if tasks else ""
        clock = f"{self.seconds / number:.0f} s on the clock{task}; the set has {self.set_mb} MB"
        return f"an entry took {each} and {clock}"


def yield_of(folder: Path) -> SetReport:
    """Return the yield of the set in *folder*. Raises `UsageError`."""
    manifest = read_manifest(folder)
    entries = read_entries(folder)
    steps = steps_of(manifest.kind)
    languages = sorted({_language(one) for one in entries})
    groups = [(name, [one for one in entries if _language(one) == name]) for name in languages]
    if len(groups) != 1:
        groups.append(("all", entries))
    causes = Counter((one.step, one.cause, _language(one)) for one in entries if one.standing != "accepted")
    return SetReport(
        label=manifest.label,
        steps=steps,
        rows=tuple(_row(name, group, steps) for name, group in groups),
        causes=tuple(
            YieldCause(step=step, cause=cause, language=language, count=count)
            for (step, cause, language), count in causes.most_common()
        ),
        entries=tuple(entries),
        seconds=round(sum(one.seconds for one in entries), 1),
        processor_s=round(sum(one.processor_s for one in entries), 1),
        layers_mb=round(sum(one.layers_mb for one in entries), 1),
        set_mb=round(size_of([folder]) / 1e6, 1),
        models=summed(read_spending(folder)),
    )


def plot_of(found: SetReport) -> Plot:
    """Return how many entries survived each step, by language, as a picture."""
    languages = [row for row in found.rows if row.language != "all"]
    groups = {"asked for": {row.language: row.asked for row in languages}}
    groups |= {step: {row.language: row.survived[step] for row in languages} for step in found.steps}
    return _counts("yield", f"yield of {found.label}", groups)


def steps_of(kind: SetKindName) -> tuple[str, ...]:
    """Return the steps of a set's kind, in their order."""
    return {"dibench": InstanceSets.steps, "library": LibrarySets.steps, "service": ServiceSets.steps}[kind]


def _row(name: str, group: Sequence[SetEntry], steps: tuple[str, ...]) -> YieldRow:
    survived = dict.fromkeys(steps, 0)
    for one in group:
        ended = len(steps) if one.standing == "accepted" else steps.index(one.step) if one.step in steps else 0
        for step in steps[:ended]:
            survived[step] += 1
    failed = sum(one.is_unsettled for one in group)
    return YieldRow(language=name, asked=len(group), survived=survived, failed=failed)


def _language(one: SetEntry) -> str:
    return one.facts.language or NO_LANGUAGE


class EntryEvidence(Record):
    """What there is to read on one entry."""

    entry: SetEntry
    models: tuple[ModelSpending, ...] = Field(default=(), description="that were asked for it")
    log: str
    files: tuple[str, ...] = Field(description="paths of further files, such as logs of its CI job")


def evidence_of(folder: Path, repository: str) -> EntryEvidence:
    """Return what is known of *repository*, an entry, its name or its task, in the set in *folder*.

    Raises `UsageError`.
    """
    read_manifest(folder)
    entries = read_entries(folder)
    found = [one for one in entries if repository in (one.entry, one.task)] or [
        one for one in entries if repository in _names(one)
    ]
    if not found:
        raise UsageError(unknown("entry", repository, [one.entry for one in entries]))
    if len(found) > 1:
        raise UsageError(f"{repository!r} may be {' or '.join(one.entry for one in found)}; name one of them")
    place = folder / EVIDENCE / (found[0].evidence or "none")
    log = place / "log.txt"
    files = sorted(str(path) for path in place.iterdir() if path != log) if place.is_dir() else []
    text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    spent = summed([one for one in read_spending(folder) if one.entry == found[0].entry])
    return EntryEvidence(entry=found[0], models=spent, log=text, files=tuple(files))


def _names(one: SetEntry) -> set[str]:
    """Return how a person may call an entry."""
    plain = one.entry.removesuffix("/").partition("==")[0].partition("@")[0].removesuffix(".git")
    parts = plain.split("/")
    return {plain, parts[-1], "/".join(parts[-2:]), one.task.partition("@")[0]}


def _counts(name: str, title: str, groups: Mapping[str, Mapping[str, int]]) -> Plot:
    """Return whole numbers as bars: of each group one for each series, in the same order everywhere."""
    series = list(dict.fromkeys(one for found in groups.values() for one in found))
    most = max([1, *(number for found in groups.values() for number in found.values())])
    rows = [
        PlotRow(
            label=group,
            bars=tuple(
                PlotBar(
                    series=one,
                    share=found.get(one, 0) / most,
                    label=str(found.get(one, 0)),
                    words=f"{one}, {group}: {found.get(one, 0)}",
                )
                for one in series
            ),
        )
        for group, found in groups.items()
    ]
    return Plot(name=name, title=title, rows=tuple(rows), colours=coloured(series))
