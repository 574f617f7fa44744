"""What a grading sandbox will see, laid out on the host."""

import os
from pathlib import Path

import pytest

from groundup.domain.errors import MachineError, TaskError
from groundup.grading.library.hidden import Distribution, HiddenTests, LibraryUnderTest
from groundup.grading.library.layout import with_own_roots
from groundup.grading.library.staging import TRUSTED, lay_tests, stage
from groundup.sandbox.protocol import WORKSPACE, SandboxSpec
from tests.grading.library.laboratory import NO_ENVIRONMENT

HIDDEN = HiddenTests(packages=("calc",), arguments=("tests",), protected=("tests",))


def _write(root: Path, files: dict[str, str]) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.fixture
def original(tmp_path: Path) -> Path:
    """An original with tests and data."""
    return _write(
        tmp_path / "original",
        {"calc/__init__.py": "secret = 1\n", "tests/test_a.py": "# hidden\n", "tests/data/x.txt": "original\n"},
    )


def test_tests_can_be_laid_once_they_are_known(tmp_path: Path) -> None:
    """Until then their files are empty; then all are written, in one go, so that none is younger than the rest."""
    original = _write(tmp_path / "orig", {"calc.py": "", "tests/test_a.py": "true", "tests/deep/data.txt": "data"})
    library = LibraryUnderTest(_write(tmp_path / "sub", {}), original, HIDDEN, NO_ENVIRONMENT)
    scratch = tmp_path / "scratch"
    spec, composed = stage(library, scratch, None)
    (tests,) = (mount.source for mount in spec.mounts if mount.target == f"{WORKSPACE}/tests")
    known = {name: (tests / name).stat() for name in ("test_a.py", "deep/data.txt")}
    assert [status.st_size for status in known.values()] == [0, 0]
    lay_tests(library, scratch, composed, {"tests/test_a.py": b"false"})

    assert {name: (tests / name).read_text() for name in known} == {"test_a.py": "false", "deep/data.txt": "data"}
    assert all((tests / name).stat().st_ino == status.st_ino for name, status in known.items()), "as mounted"


def _stage(tmp_path: Path, submission: Path, original: Path, hidden: HiddenTests = HIDDEN) -> SandboxSpec:
    return stage(LibraryUnderTest(submission, original, hidden, NO_ENVIRONMENT), tmp_path / "scratch")[0]


def _mounted(staged: SandboxSpec) -> dict[str, Path]:
    return {mount.target: mount.source for mount in staged.mounts}


def test_hidden_tests_are_mounted_and_not_written_into_the_workspace(tmp_path: Path, original: Path) -> None:
    """The workspace holds the submission only; the original's tests lie read-only over it, its library nowhere."""
    submission = _write(tmp_path / "sub", {"calc/__init__.py": "mine = 1\n", "tests/test_a.py": "# mine\n"})
    staged = _stage(tmp_path, submission, original)
    tests = _mounted(staged)[f"{WORKSPACE}/tests"]

    assert (staged.workspace / "calc/__init__.py").read_text() == "mine = 1\n"
    assert list((staged.workspace / "tests").iterdir()) == []
    assert (tests / "test_a.py").read_text() == "# hidden\n"
    assert not any(mount.writable for mount in staged.mounts)
    assert "secret" not in "".join(path.read_text() for path in tmp_path.glob("scratch/**/*") if path.is_file())


def test_single_test_files_are_mounted_one_by_one(tmp_path: Path) -> None:
    """A test file at the root is restored without covering the submission beside it."""
    original = _write(tmp_path / "original", {"test_calc.py": "# hidden\n"})
    hidden = HIDDEN.but(protected=("test_calc.py",), arguments=("test_calc.py",))
    staged = _stage(tmp_path, _write(tmp_path / "sub", {"calc.py": ""}), original, hidden)
    targets = set(_mounted(staged))

    assert f"{WORKSPACE}/test_calc.py" in targets
    assert WORKSPACE not in targets
    assert (staged.workspace / "calc.py").is_file()


def test_a_writable_tree_keeps_its_test_files_read_only(tmp_path: Path, original: Path) -> None:
    """Where tests write beside themselves, the data is a copy, and what is collected still cannot be changed."""
    hidden = HIDDEN.but(writable=("tests/data",))
    staged = _stage(tmp_path, _write(tmp_path / "sub", {}), original, hidden)
    targets = set(_mounted(staged))

    assert (staged.workspace / "tests/data/x.txt").read_text() == "original\n"
    assert f"{WORKSPACE}/tests/test_a.py" in targets
    assert f"{WORKSPACE}/tests" not in targets
    assert len([target for target in targets if target.endswith(".py")]) == 1


def test_a_writable_path_must_be_protected(tmp_path: Path, original: Path) -> None:
    """A recipe that calls something writable which is not the original's is at fault."""
    hidden = HIDDEN.but(writable=("other",))

    with pytest.raises(TaskError, match="mend the recipe"):
        _stage(tmp_path, _write(tmp_path / "sub", {}), original, hidden)


@pytest.mark.parametrize("target", ["/etc", "../../outside", "calc"])
def test_a_link_named_like_the_tests_is_not_followed(tmp_path: Path, original: Path, target: str) -> None:
    """A submission that links its tests folder elsewhere cannot lead a mount or a copy there."""
    submission = _write(tmp_path / "sub", {"calc/__init__.py": ""})
    (submission / "tests").symlink_to(target)
    staged = _stage(tmp_path, submission, original)

    assert not (staged.workspace / "tests").is_symlink()


def test_links_out_of_the_tree_are_not_copied(tmp_path: Path, original: Path) -> None:
    """No file of the host comes along through a link."""
    secret = _write(tmp_path / "host", {"secret.txt": "x"})
    submission = _write(tmp_path / "sub", {"calc/__init__.py": ""})
    (submission / "calc/leak").symlink_to(secret / "secret.txt")
    (submission / "calc/inner").symlink_to("__init__.py")
    staged = _stage(tmp_path, submission, original)

    assert not (staged.workspace / "calc/leak").is_symlink()
    assert (staged.workspace / "calc/inner").is_symlink()


def test_names_that_are_no_text_come_along(tmp_path: Path, original: Path) -> None:
    """A file name of arbitrary bytes breaks nothing, whether its file is kept or left out."""
    submission = _write(tmp_path / "sub", {"calc/__init__.py": ""})
    for name in (b"calc/\xff.txt", b"\xfe.pth"):
        (submission / os.fsdecode(name)).touch()
    library = LibraryUnderTest(submission, original, HIDDEN, NO_ENVIRONMENT)
    spec, composed = stage(library, tmp_path / "scratch")

    assert (spec.workspace / os.fsdecode(b"calc/\xff.txt")).is_file()
    assert [entry.path for entry in composed.dropped] == ["\\xfe.pth"]


def test_the_trusted_folder_holds_what_an_installation_would_leave(tmp_path: Path, original: Path) -> None:
    """Metadata and programs come from the recipe, so that nothing of the submission is ever installed."""
    distribution = Distribution(
        name="Calc-Lib", version="1.0", entry_points={"console_scripts": {"calc": "calc.cli:main"}}
    )
    hidden = HIDDEN.but(distribution=distribution, ini=("xfail_strict = true",))
    trusted = _mounted(_stage(tmp_path, _write(tmp_path / "sub", {}), original, hidden))[TRUSTED]

    assert "Version: 1.0" in (trusted / "metadata/Calc_Lib-1.0.dist-info/METADATA").read_text()
    assert "from calc.cli import main" in (trusted / "bin/calc").read_text()
    assert (trusted / "bin/calc").stat().st_mode & 0o111
    assert (trusted / "pytest.ini").read_text() == "[pytest]\nxfail_strict = true\n"
    assert (trusted / "runner.py").is_file()


def test_what_a_build_writes_is_given_to_a_submission_that_lacks_it(tmp_path: Path, original: Path) -> None:
    """A package without its version module gets it; a module of its own stays, and no work at all gets nothing."""
    hidden = HIDDEN.but(generated={"calc/_version.py": "version = '1'\n"})
    given = {"calc/__init__.py": ""}
    for name, files, expected in (
        ("lacks", given, "version = '1'\n"),
        ("has", {**given, "calc/_version.py": "own"}, "own"),
        ("empty", {}, None),
    ):
        (tmp_path / name).mkdir()
        staged = _stage(tmp_path / name, _write(tmp_path / name / "sub", files), original, hidden)
        found = staged.workspace / "calc" / "_version.py"
        assert (found.read_text() if found.exists() else None) == expected


def test_a_folder_that_the_original_makes_is_made_beside_what_a_submission_has_in_it(
    tmp_path: Path, original: Path
) -> None:
    """Tests find a folder with what the original makes in it and the submission's own files."""
    hidden = HIDDEN.but(generated={"datasets/": "", "datasets/index": "all", "cache/": ""})
    for name, files in (("lacks", {}), ("has", {"datasets/own": ""})):
        (tmp_path / name).mkdir()
        staged = _stage(tmp_path / name, _write(tmp_path / name / "sub", files), original, hidden)
        found = (staged.workspace / "datasets").iterdir()
        assert {f"datasets/{path.name}" for path in found} == {*files, "datasets/index"}
        assert list((staged.workspace / "cache").iterdir()) == []


def test_the_sandbox_has_what_the_recipe_asks_for(tmp_path: Path, original: Path) -> None:
    """Its roots are where children import from, unless it names others; programs of the machine need its /usr."""
    submission = _write(tmp_path / "sub", {})
    hidden = HIDDEN.but(import_roots=("src", "."), timeout_s=50, memory_mb=900, processes=70, locale="C")
    others = hidden.but(child_path=("lib",), programs=("sh",), user="root", environment={"LANG": "de"})
    spec = _stage(tmp_path, submission, original, hidden)
    (tmp_path / "others").mkdir()
    other = _stage(tmp_path / "others", submission, original, others)

    assert spec.environment["PYTHONPATH"] == f"{TRUSTED}/metadata:{WORKSPACE}/src:{WORKSPACE}"
    assert other.environment["PYTHONPATH"] == f"{TRUSTED}/metadata:{WORKSPACE}/lib"
    assert (spec.environment["LANG"], other.environment["LANG"], other.environment["LC_ALL"]) == ("C", "de", "C")
    assert (spec.system, other.system, spec.user, other.user) == ("listed", "host", "ordinary", "root")
    limits = spec.limits
    assert (limits.command_s, limits.wall_clock_s, limits.memory_mb, limits.processes) == (50, 80, 900, 70)
    assert (
        stage(LibraryUnderTest(submission, original, hidden, NO_ENVIRONMENT), tmp_path / "timed", timeout_s=9)[
            0
        ].limits.command_s
        == 9
    )
    with pytest.raises(MachineError, match="no-such-program"):
        _stage(tmp_path / "lacking", submission, original, hidden.but(programs=("no-such-program",)))


BUILT = {"calc/zones/": ("*",), "calc/__init__.py": ("zones", "all_zones")}
UNBUILT = "def known(zone):\n    return zone\n\n\ndef first():\n    return all_zones[0]\n"
TAIL = "all_zones = \\\n['A',\n 'B']\nzones = tuple(z for z in all_zones if known(z))\n"


@pytest.mark.parametrize(
    ("init", "appended"),
    [
        (UNBUILT, True),
        (UNBUILT + "if True:\n    zones = ()\n", False),
        (UNBUILT + "from .lists import *\n", False),
        (UNBUILT.replace("known", "other"), False),
        (UNBUILT + "!", False),
    ],
    ids=["lacks", "has", "imports", "cannot", "broken"],
)
@pytest.mark.parametrize("layout", ["", "src/"])
def test_what_a_build_adds_to_a_package_is_taken_from_the_original(
    tmp_path: Path, layout: str, init: str, appended: bool
) -> None:
    """Data where a checkout has a link to nothing, and assignments where a module binds none of their names."""
    built = {"calc/__init__.py": UNBUILT + TAIL, "calc/zones/e/X": "data", "tests/test_a.py": ""}
    original = _write(tmp_path / "original", built)
    submission = _write(tmp_path / "sub", {f"{layout}calc/__init__.py": init})
    (submission / f"{layout}calc/zones").symlink_to("../../build/zones")
    hidden = with_own_roots(submission, HIDDEN.but(generated=BUILT))

    package = _stage(tmp_path, submission, original, hidden).workspace / layout / "calc"

    assert (package / "zones/e/X").read_text() == "data"
    assert (package / "__init__.py").read_text() == (f"{init}\n\n{TAIL}" if appended else init)


def test_data_of_a_build_replaces_nothing_and_follows_no_link(tmp_path: Path) -> None:
    """A folder of the submission's own stays as it is; a module that is a link is not read."""
    original = _write(tmp_path / "original", {"calc/__init__.py": TAIL, "calc/zones/X": "", "tests/test_a.py": ""})
    submission = _write(tmp_path / "sub", {"calc/zones/own": "mine", "secret.py": "known = print\n"})
    (submission / "calc/__init__.py").symlink_to("../secret.py")

    staged = _stage(tmp_path, submission, original, HIDDEN.but(generated=BUILT))

    assert [path.name for path in (staged.workspace / "calc/zones").iterdir()] == ["own"]
    assert (staged.workspace / "calc/__init__.py").is_symlink()
