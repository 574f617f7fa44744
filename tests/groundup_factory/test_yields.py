"""What a set's making cost, and how many entries survived each step."""

from pathlib import Path

import pytest

from groundup.cli.main import main
from groundup.domain.errors import UsageError
from groundup.store.files import Journal
from groundup.suites.sets import ENTRIES, MANIFEST, SetManifest
from groundup_factory.filters import RepositoryFacts
from groundup_factory.library_sets import LibrarySets
from groundup_factory.set_entries import EVIDENCE, SetEntry
from groundup_factory.spending import CostMeter, size_of
from groundup_factory.yields import evidence_of, plot_of, yield_of
from tests.grading.library.laboratory import write_tree
from tests.reports.made import need_drawing


def _set(folder: Path) -> Path:
    folder.mkdir()
    manifest = SetManifest(name="mine", version="1", kind="library", canary="c" * 32)
    (folder / MANIFEST).write_text(manifest.model_dump_json())
    python = RepositoryFacts(language="python")
    good = SetEntry(entry="good", task="good@1", standing="accepted", step="audited", seconds=90, processor_s=30)
    bad = SetEntry(entry="bad", task="bad", standing="rejected", step="proven", cause="time", seconds=30)
    entries = [good.but(facts=python), bad.but(facts=python, processor_s=10, layers_mb=8)]
    with Journal(folder / ENTRIES) as journal:
        for one in entries:
            journal.append(one.model_dump_json().encode())
    return folder


def test_costs_stand_in_the_report(tmp_path: Path) -> None:
    """Of an entry, and of a task, for which those pay that became none."""
    found = yield_of(_set(tmp_path / "set"))

    assert (found.processor_s, found.layers_mb, found.seconds) == (40, 8, 120)
    assert found.costs.startswith(
        "an entry took 20 s of processor time, 4.0 MB of layers and 60 s on the clock; a task 40 s;"
    )


def test_survivors_are_counted_by_language_and_step(tmp_path: Path) -> None:
    """Of several languages there is a row of all; what is pending failed, and causes come by how many."""
    folder = _set(tmp_path / "set")
    bad = SetEntry(entry="a", task="a", standing="rejected", step="proven", cause="time", seconds=0)
    with Journal(folder / ENTRIES) as journal:
        for one in (
            bad,
            bad.but(entry="b", standing="pending", step="fetched", cause="network"),
            bad.but(entry="c"),
        ):
            journal.append(one.model_dump_json().encode())
    found = yield_of(folder)

    steps = LibrarySets.steps
    ends = {"python": (2, steps.index("proven"), 0), "unknown": (3, steps.index("proven"), 1)}
    for row in found.rows[:-1]:
        asked, proven, failed = ends[row.language]
        assert (row.asked, row.failed) == (asked, failed)
        assert row.survived[steps[proven - 1]] == 2
        assert row.survived[steps[-1]] == (row.language == "python")
    whole = found.rows[-1]
    assert (whole.language, whole.asked, whole.survived[steps[0]], whole.failed) == ("all", 5, 4, 1)
    assert [(one.step, one.cause, one.language, one.count) for one in found.causes] == [
        ("proven", "time", "unknown", 2),
        ("proven", "time", "python", 1),
        ("fetched", "network", "unknown", 1),
    ]
    assert found.costs.startswith(
        "an entry took 8 s of processor time, 1.6 MB of layers and 24 s on the clock; a task"
    )


def test_an_entry_is_named_as_people_call_it(tmp_path: Path) -> None:
    """By its text, its task, or its name where that is no other's; its log and its other files are told."""
    folder = _set(tmp_path / "set")
    more = SetEntry(
        entry="https://host/me/six.git@abc",
        task="s@1",
        standing="rejected",
        step="proven",
        seconds=0,
        evidence="e",
    )
    with Journal(folder / ENTRIES) as journal:
        for one in (more, more.but(entry="https://host/you/attrs.git", task="attrs@1", evidence="")):
            journal.append(one.model_dump_json().encode())
        journal.append(more.but(entry="https://host/other/attrs", task="attrs@2").model_dump_json().encode())
    write_tree(folder / EVIDENCE / "e", {"log.txt": "why", "job.txt": "", "act.txt": ""})
    for name in (more.entry, "s@1", "me/six", "six"):
        found = evidence_of(folder, name)
        assert (found.entry.task, found.log) == ("s@1", "why")
        assert [Path(one).name for one in found.files] == ["act.txt", "job.txt"]
    assert (evidence_of(folder, "attrs@1").log, evidence_of(folder, "attrs@1").files) == ("", ())
    with pytest.raises(
        UsageError, match=r"'attrs' may be https://host/you/attrs.git or https://host/other/attrs; name"
    ):
        evidence_of(folder, "attrs")
    with pytest.raises(UsageError, match="unknown entry 'goood'; did you mean 'good'"):
        evidence_of(folder, "goood")


def test_survivors_are_drawn(tmp_path: Path) -> None:
    """A bar for each step; the command writes it."""
    folder = _set(tmp_path / "set")

    words = [bar.words for row in plot_of(yield_of(folder)).rows for bar in row.bars]

    assert "python, fetched: 2" in words
    assert "python, proven: 1" in words
    need_drawing()
    assert main(["curate", "yield", str(folder), "--plot", str(tmp_path / "yield.svg")]) == 0
    assert (tmp_path / "yield.svg").read_text().startswith("<svg")


def test_processor_time_is_shared_by_what_is_under_way(tmp_path: Path) -> None:
    """What two entries took together is no more than what the processor gave; layers count that appeared."""
    meter = CostMeter(tmp_path)
    meter.begin("one")
    meter.begin("two")
    (tmp_path / "layers" / "python" / "abc").mkdir(parents=True)
    (tmp_path / "layers" / "python" / "abc" / "file").write_bytes(b"x" * 200_000)
    sum(number * number for number in range(8_000_000))

    one, two = meter.end("one"), meter.end("two")

    assert one.processor_s > 0
    assert abs(one.processor_s - two.processor_s) <= 0.2
    assert one.layers_mb == two.layers_mb == 0.2
    assert size_of([tmp_path]) == 200_000
