"""`runs.leftovers`: cleaning removes what no one needs and touches nothing that somebody works on."""

import fcntl
import json
import os
import shutil
import time
from pathlib import Path

import pytest

from groundup.domain.digests import digest_of, short
from groundup.environments.layers import layer_store
from groundup.runs import api
from groundup.runs.leftovers import leftovers, remove
from groundup.settings import Settings
from groundup.store.folder import LOCK_NAME, Hold, RunWriter
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
    folder = api.NewRun(oracle(), QUICK, settings, run_id="one").work().folder
    (folder / "scratch" / "a.0").mkdir(parents=True)
    (folder / "scratch" / "a.0" / "big").write_bytes(bytes(5000))
    shell = settings.cache_dir / "shells" / "0123456789abcdef"
    shell.mkdir(parents=True)
    Hold(shell).close()
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
        killed = living.with_name("graded-0123abcd")
        killed.mkdir()
        (killed / "big").write_bytes(bytes(5000))
        (found,) = leftovers(settings)
        assert (found.kind, found.path) == ("temporary", killed)
        assert found.bytes >= 5000
        remove((found,), settings)
        assert list(living.parent.iterdir()) == [living]


def test_a_run_at_work_is_left_alone(settings: Settings) -> None:
    """Neither its scratch folder nor, however old, the run itself is listed; one begun meanwhile stays too."""
    folder = api.NewRun(oracle(), QUICK, settings, run_id="one").work().folder
    other = shutil.copytree(folder, settings.output / "two")
    for run in (folder, other):
        age(run / "verdicts.jsonl")
    listed = leftovers(settings, DAY)
    assert [leftover.path for leftover in listed if leftover.kind == "run"] == [folder, other]
    with RunWriter.open(folder):
        (folder / "scratch").mkdir()
        age(folder / "verdicts.jsonl")
        assert {leftover.path for leftover in leftovers(settings, DAY) if leftover.kind != "verdicts"} == {other}
        remove(listed, settings)
    assert (folder / "config.json").exists()
    assert not other.exists(), "one that is left alone hides no other"


def test_scratch_of_a_run_or_a_shell_that_goes_on_meanwhile_stays(settings: Settings) -> None:
    """Somebody thinks about the list while another process resumes the run, and opens the shell again."""
    folder = api.NewRun(oracle(), QUICK, settings, run_id="one").work().folder
    shell = settings.cache_dir / "shells" / "0123456789abcdef"
    shell.mkdir(parents=True)
    Hold(shell).close()
    (folder / "scratch" / "a.0").mkdir(parents=True)
    listed = leftovers(settings)
    assert [leftover.path for leftover in listed] == [folder / "scratch", shell]
    again = Hold(shell)
    with RunWriter.open(folder):
        (folder / "scratch" / "a.0").mkdir(parents=True)
        remove(listed, settings)
        assert (folder / "scratch" / "a.0").is_dir()
    assert shell.is_dir()
    again.close()


def test_old_things_go_when_asked(settings: Settings) -> None:
    """Runs, layers and cached verdicts are listed by age; younger ones and other folders stay."""
    old = api.NewRun(oracle(), QUICK, settings, run_id="old").work().folder
    api.NewRun(oracle(), QUICK, settings, run_id="young").work()
    (settings.output / "notes").mkdir()
    age(settings.output / "notes")
    age(old / "verdicts.jsonl")
    layers = settings.cache_dir / "layers" / "python"
    used, unused = _layer(layers, "used"), _layer(layers, "unused")
    (layers / ".building-c").mkdir()
    for path in (unused / "layer.json", unused, layers / ".building-c"):
        age(path)
    verdict = next((settings.cache_dir / "verdicts").glob("*/*.json"))
    age(verdict)
    assert leftovers(settings) == ()
    found = leftovers(settings, DAY)
    assert {leftover.path for leftover in found} == {old, unused, verdict}
    store = layer_store(settings)
    assert store.find("python", digest_of("unused"))
    remove(found, settings)
    assert unused.is_dir(), "somebody took it up meanwhile"
    del store
    assert remove(found, settings) == [], "what somebody else removed is no matter"
    assert (used.is_dir(), unused.exists()) == (True, False)
    assert {path.name for path in settings.output.iterdir()} == {"young", "notes"}


def test_what_sandboxes_of_killed_programs_left_goes(settings: Settings, own_temporary_folder: Path) -> None:
    """State that no one holds is listed and removed; that of a program at work is not."""
    root = own_temporary_folder / f"groundup-{os.geteuid()}"
    stale, held = "0123abcd", "4567abcd"
    for name in (stale, held):
        (root / name / "sandboxes").mkdir(parents=True)
        (root / name / "lock").touch()
    root.chmod(0o700)
    with (root / held / "lock").open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = leftovers(settings)
        assert [(one.kind, one.path.name) for one in found] == [("sandbox", stale)]
        remove(found, settings)
    assert {path.name for path in root.iterdir()} == {held, "scratch"}


def test_folders_of_the_same_names_that_are_somebody_else_s_stay(
    settings: Settings, own_temporary_folder: Path
) -> None:
    """Only what has groundup's own record inside is cleaned, however old the rest is and whatever it is called."""
    root = own_temporary_folder / f"groundup-{os.geteuid()}"
    theirs = [
        settings.output / "mine" / "config.json",
        settings.output / "mine" / "scratch" / "thesis.tex",
        settings.output / "mine" / ".old.gone" / "thesis.tex",
        settings.cache_dir / "shells" / "zsh" / ".zshrc",
        settings.cache_dir / "shells" / "zsh" / LOCK_NAME,
        settings.cache_dir / "shells" / "0123456789abcdef" / "notes",
        settings.cache_dir / "verdicts" / "2024" / "smith-v-jones.txt",
        settings.cache_dir / "layers" / "maps" / "roads" / "layer.json",
        root / "scratch" / "notes" / "thesis.tex",
        root / "notes" / "lock",
    ]
    for path in theirs:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
        age(path)
        age(path.parent)
    root.chmod(0o700)
    found = leftovers(settings, DAY)
    remove(found, settings)
    assert (found, [path for path in theirs if not path.exists()]) == ((), [])


def test_what_others_put_into_a_run_stays_when_the_run_goes(settings: Settings) -> None:
    """A run is removed without the notes that somebody keeps in its folder; they are told."""
    run = api.NewRun(oracle(), QUICK, settings, run_id="old").work().folder
    (run / "notes.md").write_text("why task 3 fails")
    age(run / "verdicts.jsonl")
    kept = remove(leftovers(settings, DAY), settings)
    assert kept == [run / "notes.md"]
    assert [path.name for path in settings.output.rglob("*")] == ["old", "notes.md"]


def _layer(folder: Path, name: str) -> Path:
    digest = digest_of(name)
    place = folder / short(digest)
    place.mkdir(parents=True)
    kept = {"digest": digest, "kind": folder.name, "built": {}, "warnings": []}
    (place / "layer.json").write_text(json.dumps(kept))
    place.with_name(f"{place.name}.lock").touch()
    return place
