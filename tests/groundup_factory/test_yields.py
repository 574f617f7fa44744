"""What a set's making cost, and how many entries survived each step."""

from pathlib import Path

from groundup.cli.main import main
from groundup.store.files import Journal
from groundup.suites.sets import ENTRIES, MANIFEST, SetManifest
from groundup_factory.filters import RepositoryFacts
from groundup_factory.set_entries import SetEntry
from groundup_factory.spending import CostMeter, size_of
from groundup_factory.yields import plot_of, yield_of
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
