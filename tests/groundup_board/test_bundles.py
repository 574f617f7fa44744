"""What bundles hold, and each sentence about one that was changed."""

import hashlib
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.domain.subjects import AttemptKey
from groundup.store.folder import RunFolder
from groundup.trees.archives import extract_archive
from groundup_board.bundles import Bundle, BundleManifest, Disclosure, pack, unpack
from tests.store.folders import write_run

OPEN = Disclosure(contamination="none", notes="mine", languages=("python",))
FIRST, SECOND, THIRD = (AttemptKey(task=task) for task in ("a_one", "b_two", "c_three"))


@pytest.fixture
def opened(tmp_path: Path) -> Path:
    """A run of three tasks as an unpacked bundle."""
    run = RunFolder(write_run(tmp_path / "mine", "dibench"))
    pack(run, tmp_path / "mine.tar.gz", OPEN)
    extract_archive(tmp_path / "mine.tar.gz", tmp_path / "opened")
    return tmp_path / "opened"


def rewritten(folder: Path, **changes: object) -> None:
    """Change what the manifest says."""
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), **changes}))


def listed(folder: Path) -> BundleManifest:
    """Return what the manifest says."""
    return BundleManifest.model_validate_json((folder / "manifest.json").read_text())


def submission(folder: Path, number: int = 0) -> Path:
    """Return one of the submissions."""
    return sorted((folder / "submissions").iterdir())[number]


def test_a_bundle_holds_the_run_and_its_submissions_once(opened: Path, tmp_path: Path) -> None:
    """In order, without whose they were and when; nothing else, and no fault in it."""
    with tarfile.open(tmp_path / "mine.tar.gz") as tar:
        members = tar.getmembers()
    trees = [f"submissions/{path.name}" for path in sorted((opened / "submissions").iterdir())]
    records = [f"run/attempts/{task}/0/submission.json" for task in ("a_one", "b_two", "c_three")]
    assert [one.name for one in members] == [
        "manifest.json",
        *records,
        *(f"run/{name}" for name in ("config.json", "lock.json", "verdicts.jsonl")),
        *(name for tree in trees for name in (tree, f"{tree}/module.py")),
    ]
    assert {(one.uid, one.gid, one.uname, one.gname, one.mtime) for one in members} == {(0, 0, "", "", 0)}
    bundle = Bundle(opened)
    assert list(bundle.faults()) == []
    assert bundle.manifest.disclosure == OPEN
    assert bundle.run.lock().packed
    assert sorted(task for task, _ in bundle.handed_in()) == ["a_one", "b_two", "c_three"]
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".partial")]


def test_submissions_are_laid_out_as_runs_have_them(opened: Path) -> None:
    """Of the attempts that are asked for alone."""
    bundle = Bundle(opened)
    bundle.lay_out([SECOND])
    assert (bundle.run.attempt(SECOND).submission / "module.py").read_text() == "NAME = 'b_two'\n"
    assert not bundle.run.attempt(FIRST).submission.exists()


def test_times_and_images_of_the_bundle_do_not_count(opened: Path) -> None:
    """Who verifies it says how long tests may take."""
    bundle = Bundle(opened)
    bundle.give(77.0)
    again = bundle.run
    assert again.config().configuration.timeout_s == 77.0
    assert (again.lock().images, again.records().faults) == ({}, ())


def cut(folder: Path, name: str) -> None:
    """Take a file of the run out, and out of the manifest."""
    (folder / "run" / name).unlink()
    files = {one: digest for one, digest in listed(folder).files.items() if one != name}
    rewritten(folder, files=files)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda folder: (folder / "manifest.json").unlink(), "this is no bundle: it has no manifest.json"),
        (
            lambda folder: rewritten(folder, format=2),
            "manifest.json of the bundle is wrong: format: must be at most 1",
        ),
        (
            lambda folder: (folder / "run" / "more.txt").write_text("x"),
            "the bundle's files are not those of its manifest: more.txt",
        ),
        (
            lambda folder: (folder / "run" / "link").symlink_to("config.json"),
            "the bundle's files are not those of its manifest: link",
        ),
        (
            lambda folder: [(folder / "run" / f"{number}").write_text("x") for number in range(5)],
            "the bundle's files are not those of its manifest: 0, 1, 2, 3",
        ),
        (
            lambda folder: (folder / "run" / "lock.json").write_text("{}"),
            "lock.json of the bundle has another digest than its manifest says",
        ),
        (lambda folder: cut(folder, "lock.json"), "it lacks lock.json, which every bundle has"),
        (
            lambda folder: rewritten(folder, submissions=listed(folder).submissions[1:]),
            "the bundle lacks submissions that verdicts name, such as sha256:",
        ),
        (
            lambda folder: rewritten(folder, submissions=[*listed(folder).submissions, "../run"]),
            "'../run' is no digest",
        ),
        (
            lambda folder: (submission(folder) / "module.py").write_text("x"),
            "of the bundle is absent or has another digest",
        ),
        (
            lambda folder: submission(folder).rename(folder / "elsewhere"),
            "of the bundle is absent or has another digest",
        ),
    ],
)
def test_a_bundle_that_was_changed_says_where(opened: Path, change: Callable[[Path], object], says: str) -> None:
    """Before anything of it counts."""
    change(opened)
    with pytest.raises(UsageError) as caught:
        Bundle(opened)
    assert says in str(caught.value)
    assert str(caught.value).startswith(says) or says.startswith("of the bundle")


def test_what_packing_never_writes_is_named(opened: Path) -> None:
    """Three of it, sorted: nobody vouches for it."""
    for name in ("d", "c", "b", "submissions/a"):
        (opened / name).mkdir()
    assert list(Bundle(opened).faults()) == ["it holds what `groundup leaderboard pack` never writes: b, c, d"]


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("files", 9, "is about another submission than the verdict"),
        ("bytes", 9, "is about another submission than the verdict"),
        ("outcome", "limit", "tells of another outcome, cost or number of turns than the verdict"),
    ],
)
def test_records_of_submissions_fit_their_verdicts(opened: Path, field: str, value: object, says: str) -> None:
    """Each is about the tree and the end that the verdict is on."""
    name = "attempts/b_two/0/submission.json"
    path = opened / "run" / name
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    rewritten(opened, files={**listed(opened).files, name: hashlib.sha256(path.read_bytes()).hexdigest()})
    assert list(Bundle(opened).faults()) == [f"{name} {says}"]


def test_what_is_no_bundle_is_named(tmp_path: Path) -> None:
    """A folder, a text, and an archive with more than bundles hold."""
    (tmp_path / "text.tar.gz").write_text("x" * 600)
    with tarfile.open(tmp_path / "odd.tar.gz", "w:gz") as tar:
        tar.addfile(tarfile.TarInfo("../up"))
    for name, says in (
        ("absent", "is no file; name a bundle that `groundup leaderboard pack` wrote"),
        ("text.tar.gz", "is no bundle: the archive text.tar.gz cannot be read: "),
        ("odd.tar.gz", "holds what no bundle does: ../up: name leads outside"),
    ):
        with pytest.raises(UsageError) as caught:
            unpack(tmp_path / name, tmp_path / f"{name}-opened")
        assert str(caught.value).startswith(f"{tmp_path / name} {says}")


def test_a_run_that_is_not_whole_is_not_packed(tmp_path: Path) -> None:
    """With a verdict on each submission as it is."""
    run = RunFolder(write_run(tmp_path / "mine", "dibench"))
    (run.attempt(SECOND).submission / "module.py").write_text("x")
    with pytest.raises(UsageError) as caught:
        pack(run, tmp_path / "mine.tar.gz", OPEN)
    assert str(caught.value) == f"the submission of {SECOND} was changed after its verdict; restore it first"
    assert not (tmp_path / "mine.tar.gz").exists()
