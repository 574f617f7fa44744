"""`runs.leftovers`: cleaning removes what no one needs and touches nothing that somebody works on."""

import fcntl
import os
import time
from pathlib import Path

import pytest

from groundup.runs import api
from groundup.runs.leftovers import leftovers, remove
from groundup.settings import Settings
from groundup.store.folder import RunWriter
from groundup.trees.scratch import scratch_folder
from tests.runs.configurations import QUICK, oracle

OLD = time.time() - 10 * 24 * 3600
DAY = 24 * 3600.0


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep what sandboxes of other programs left on this machine out of sight; return where they would."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return tmp_path / "tmp"


def age(path: Path) -> None:
    """Make *path* old."""
    os.utime(path, (OLD, OLD))


def test_scratch_of_killed_processes_goes_at_any_age(settings: Settings) -> None:
    """A killed run's scratch folder is found with its size; the run itself stays."""
    folder = api.run(oracle(), QUICK, settings, run_id="one").folder
    (folder / "scratch" / "a.0").mkdir(parents=True)
    (folder / "scratch" / "a.0" / "big").write_bytes(bytes(5000))
    shell = settings.cache_dir / "shells" / "abc"
    shell.mkdir(parents=True)
    found = leftovers(settings)
    assert [(leftover.kind, leftover.path) for leftover in found] == [
        ("scratch", folder / "scratch"),
        ("scratch", shell),
    ]
    assert found[0].bytes >= 5000
    remove(found, settings)
    assert leftovers(settings) == ()
    assert (folder / "verdicts.jsonl").exists()


def test_temporary_folders_of_killed_processes_go_and_those_of_living_ones_stay(settings: Settings) -> None:
    """What a killed node left is listed with its size."""
    with scratch_folder("node") as living:
        killed = living.with_name("graded-0")
        killed.mkdir()
        (killed / "big").write_bytes(bytes(5000))
        (found,) = leftovers(settings)
        assert (found.kind, found.path) == ("temporary", killed)
        assert found.bytes >= 5000
        remove((found,), settings)
        assert list(living.parent.iterdir()) == [living]


def test_a_run_at_work_is_left_alone(settings: Settings) -> None:
    """Neither its scratch folder nor, however old, the run itself is listed; one begun meanwhile stays too."""
    folder = api.run(oracle(), QUICK, settings, run_id="one").folder
    age(folder / "verdicts.jsonl")
    listed = leftovers(settings, DAY)
    with RunWriter.open(folder):
        (folder / "scratch").mkdir()
        age(folder / "verdicts.jsonl")
        assert [leftover for leftover in leftovers(settings, DAY) if leftover.kind != "verdicts"] == []
        remove(listed, settings)
    assert (folder / "config.json").exists()


def test_old_things_go_when_asked(settings: Settings) -> None:
    """Runs, layers and cached verdicts are listed by age; younger ones and other folders stay."""
    old = api.run(oracle(), QUICK, settings, run_id="old").folder
    api.run(oracle(), QUICK, settings, run_id="young")
    (settings.output / "notes").mkdir()
    age(settings.output / "notes")
    age(old / "verdicts.jsonl")
    layers = settings.cache_dir / "layers" / "python"
    for name in ("a", "b"):
        (layers / name).mkdir(parents=True)
        (layers / name / "layer.json").touch()
    (layers / ".building-c").mkdir()
    for path in (layers / "a" / "layer.json", layers / "a", layers / ".building-c"):
        age(path)
    verdict = next((settings.cache_dir / "verdicts").glob("*/*.json"))
    age(verdict)
    assert leftovers(settings) == ()
    found = leftovers(settings, DAY)
    assert {leftover.path for leftover in found} == {old, layers / "a", verdict}
    remove(found, settings)
    assert {path.name for path in settings.output.iterdir()} == {"young", "notes"}


def test_what_sandboxes_of_killed_programs_left_goes(settings: Settings, own_temporary_folder: Path) -> None:
    """State that no one holds is listed and removed; that of a program at work is not."""
    root = own_temporary_folder / f"groundup-{os.geteuid()}"
    for name in ("stale", "held"):
        (root / name / "sandboxes").mkdir(parents=True)
        (root / name / "lock").touch()
    root.chmod(0o700)
    with (root / "held" / "lock").open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = leftovers(settings)
        assert [(one.kind, one.path.name) for one in found] == [("sandbox", "stale")]
        remove(found, settings)
    assert {path.name for path in root.iterdir()} == {"held", "scratch"}
