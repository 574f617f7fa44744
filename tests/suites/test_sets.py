"""A set of one's own, where data lies, and what names of suites mean: each sentence, each bound."""

import tarfile
from pathlib import Path

import pytest
from pydantic import ValidationError

from groundup.domain.digests import short
from groundup.domain.errors import UsageError
from groundup.settings import Settings, load
from groundup.store.ownership import digest_of_entry
from groundup.suites.base import Suite
from groundup.suites.opening import is_known, named_suite, open_suite
from groundup.suites.places import (
    DataOrigin,
    PublishedFile,
    PublishedRepository,
    data_folder,
    data_sets,
    origin_of,
    split_variants,
    with_data_set,
    with_variants,
)
from groundup.suites.sets import (
    SetManifest,
    SetTask,
    canary_line,
    checked_set,
    copy_set,
    holds_set,
    is_set,
    name_of_installed,
    read_manifest,
)
from tests.grading.library.laboratory import write_tree


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A set with one task: a file, a folder and a file that tasks share."""
    folder = write_tree(
        tmp_path / "my-set",
        {"a/start.md": "# A\n", "a/code/a.py": "x = 1\n", "shared.txt": "s\n", "evidence/log": "e\n"},
    )
    places = {place: digest_of_entry(folder / place) or "" for place in ("a/start.md", "a/code", "shared.txt")}
    task = SetTask(
        id="a",
        entry="pypi:a",
        source="a 1",
        licence="MIT",
        tests=3,
        files={place: places[place] for place in ("a/start.md", "a/code")},
    )
    shared = {"shared.txt": places["shared.txt"]}
    manifest = SetManifest(name="my-set", version="1.2", canary="c", tasks=(task,), shared=shared)
    (folder / "set.json").write_text(manifest.model_dump_json())
    return folder


def test_a_set_is_as_its_manifest_says(made: Path) -> None:
    """Its label has a digest of what decides a verdict; what tasks share is checked, and evidence is not."""
    manifest = checked_set(made, "library")
    assert manifest.label == f"my-set 1.2 {short(manifest.digest)}"
    assert [*manifest.files] == ["a/start.md", "a/code", "shared.txt"]
    other = manifest.but(tasks=(manifest.tasks[0].but(files={"a/start.md": "sha256:0"}),))
    assert other.digest != manifest.digest == manifest.but(shared={}, canary="d").digest
    (made / "evidence/log").write_text("other")
    assert checked_set(made, "library") == manifest
    assert canary_line("c") == "<!-- groundup canary c: text of a benchmark, not for training -->"


def test_what_is_wrong_with_a_set_is_said(made: Path, tmp_path: Path) -> None:
    """Each sentence names the file, and what to do."""

    def said() -> str:
        with pytest.raises(UsageError) as caught:
            checked_set(made, "library")
        return str(caught.value).replace(str(made), "SET")

    (made / "shared.txt").write_text("t\n")
    assert said() == (
        "SET/shared.txt is not as set.json says; copy the set again, or if the change is yours, "
        "`groundup curate set -o SET` brings the manifest up to date"
    )
    (made / "shared.txt").unlink()
    assert said() == "SET/shared.txt cannot be read; copy the set again"
    with pytest.raises(UsageError) as caught:
        checked_set(made, "service")
    assert str(caught.value) == f"{made} is a set of the kind library, which is for nl2repobench"
    (made / "set.json").write_text('{"name": "a"}')
    assert said().startswith("SET/set.json is no manifest of a set: ")
    (made / "set.json").unlink()
    assert said() == "SET/set.json cannot be read: No such file or directory; name the folder of a set"


def test_a_copy_has_what_the_manifest_names(made: Path, tmp_path: Path) -> None:
    """And what became of its entries, if that is there; never its maker's evidence."""
    (made / "VALIDITY").touch()
    copy_set(made, tmp_path / "copy")
    copied = {
        str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*") if path.is_file()
    }
    assert copied == {"set.json", "a/start.md", "a/code/a.py", "shared.txt"}
    (made / "entries.jsonl").write_text("{}\n")
    copy_set(made, tmp_path / "again")
    assert (tmp_path / "again/entries.jsonl").read_text() == "{}\n"
    (made / "shared.txt").unlink()
    with pytest.raises(UsageError) as caught:
        copy_set(made, tmp_path / "third")
    assert str(caught.value) == (
        f"{made / 'shared.txt'} cannot be read: No such file or directory; copy the set again"
    )


@pytest.mark.parametrize("place", ["", "/a", "../a", "a/../b", "a\\b", "a\0b"])
def test_no_path_of_a_set_leads_out_of_it(place: str) -> None:
    """As a place of a file, of what is shared, or of a task's own."""
    with pytest.raises(ValidationError, match="must be a relative path inside the set"):
        SetManifest.model_validate({"name": "a", "version": "1", "canary": "c", "shared": {place: "sha256:0"}})


@pytest.mark.parametrize(
    ("version", "fits"),
    [
        ("1", True),
        ("1.0+b-c_d", True),
        ("a" * 60, True),
        ("a" * 61, False),
        ("", False),
        (".1", False),
        ("1 2", False),
    ],
)
def test_a_version_is_a_word(version: str, fits: bool) -> None:
    """Of at most 60 characters, for it stands in names."""
    manifest = {"name": "a", "version": version, "canary": "c"}
    if fits:
        assert SetManifest.model_validate(manifest).version == version
    else:
        with pytest.raises(ValidationError):
            SetManifest.model_validate(manifest)


def test_a_set_may_be_a_folder_or_an_archive_of_one(made: Path, tmp_path: Path) -> None:
    """With the manifest at its top; another file, a folder deeper, or nothing at all is none."""
    for name, inside in (("flat", "set.json"), ("dotted", "./set.json"), ("deep", "my-set/set.json")):
        with tarfile.open(tmp_path / f"{name}.tar.gz", "w:gz") as archive:
            archive.add(made / "set.json", inside)
    found = {name: holds_set(tmp_path / f"{name}.tar.gz") for name in ("flat", "dotted", "deep", "absent")}
    assert found == {"flat": True, "dotted": True, "deep": False, "absent": False}
    (tmp_path / "text").write_text("no archive")
    assert [holds_set(path) for path in (made, tmp_path, tmp_path / "text")] == [True, False, False]
    assert (is_set(made), is_set(tmp_path)) == (True, False)


@pytest.mark.parametrize(
    ("name", "installed"),
    [
        ("my-set", "nl2repobench@my-set@1.2"),
        ("my-set@1.2", "nl2repobench@my-set@1.2"),
        ("other", "nl2repobench@other@1.2"),
        ("nl2repobench", "nl2repobench@my-set@1.2"),
        ("nl2repobench@own", "nl2repobench@own"),
        ("my-set@1.3", "the set is of version 1.2; install it as my-set@1.2"),
        ("dibench", "a set of the kind library is data of nl2repobench, not of dibench"),
    ],
)
def test_under_which_name_a_set_is_installed(made: Path, name: str, installed: str) -> None:
    """Its own with its version, unless a name for the data is given."""
    if " " not in installed:
        assert name_of_installed(name, made) == installed
    else:
        with pytest.raises(UsageError) as caught:
            name_of_installed(name, made)
        assert str(caught.value) == installed


# --- where data lies


def test_names_of_suites_with_words_and_data_sets() -> None:
    """Words are sorted, each once; a path and a plug-in's dotted name hold none."""
    assert split_variants("a+y+x+y@mine") == ("a@mine", ("x", "y"))
    assert split_variants("./a+b") == ("./a+b", ())
    assert split_variants("module:create+x") == ("module:create", ("x",))
    assert split_variants("module:create@x") == ("module:create@x", ())
    assert with_variants("a+x@mine", ["z", "x"]) == "a+x+z@mine"
    assert with_variants("a", []) == "a"


def test_where_data_lies(tmp_path: Path) -> None:
    """Below the suite's name, or below that of a data set, which lists itself once it has an origin."""
    settings = load({"data_dir": str(tmp_path)})
    assert (data_folder("toy", settings), origin_of("toy", settings), data_sets(settings)) == (None, None, [])
    suite, mine = with_data_set("toy+x@mine", settings)
    assert (suite, mine.data) == ("toy", tmp_path / "@mine")
    assert with_data_set("toy+x", settings) == ("toy", settings)
    (tmp_path / "@mine/toy/data").mkdir(parents=True)
    assert data_folder("toy", mine) == tmp_path / "@mine/toy/data"
    assert data_sets(settings) == []
    origin = DataOrigin(source="here", commit=None, digest="sha256:0", files=1)
    for place in ("@mine/toy", "@a/toy", "plain"):
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        (tmp_path / place / "origin.json").write_text(origin.model_dump_json())
    assert data_sets(settings) == ["toy@a", "toy@mine"]
    assert origin_of("toy", mine) == origin
    (tmp_path / "plain/origin.json").write_text("{}")
    with pytest.raises(UsageError) as caught:
        origin_of("plain", settings)
    assert str(caught.value) == (
        f"{tmp_path}/plain/origin.json cannot be read; fetch the data again with `groundup data pull plain`"
    )


@pytest.mark.parametrize(
    ("commit", "fits"),
    [("a" * 7, True), ("0" * 40, True), ("a" * 6, False), ("a" * 41, False), ("A" * 7, False), ("main", False)],
)
def test_a_commit_is_named_by_its_digits(commit: str, fits: bool) -> None:
    """7 to 40 of them, in lower case."""
    published = PublishedRepository(address="https://host.example/a", commit="0" * 40, licence="MIT")
    if fits:
        assert published.at(commit).commit == commit
    else:
        with pytest.raises(UsageError) as caught:
            published.at(commit)
        assert str(caught.value) == (f"{commit!r} names no commit; give 7 to 40 hexadecimal digits, in lower case")
    assert PublishedFile(address="https://host.example/a/b.tar.gz").name == "b.tar.gz"


# --- what opens a suite


def refused(name: str, settings: Settings) -> str:
    """Return why *name* opens no suite."""
    with pytest.raises(UsageError) as caught:
        open_suite(name, settings)
    return str(caught.value)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings with a folder for data of its own."""
    return load({"data_dir": str(tmp_path / "data")})


def test_what_opens_no_suite_says_what_does(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A word that the suite has not, data that was never taken in, and a plug-in that makes something else."""
    (tmp_path / "plugged.py").write_text("def create(settings):\n    return 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert refused("plugged:create", settings) == (
        "suite 'plugged:create' makes a int, which must derive from groundup.suites.base.Suite"
    )
    assert refused("nl2repobench+odd", settings) == "nl2repobench has no variant 'odd'; leave it out"
    assert refused("repogenesis+odd", settings).startswith("repogenesis has no variant 'odd'; choose from: ")
    assert refused("dibench@mine", settings) == (
        "unknown data set 'dibench@mine'; choose from: (none); "
        "`groundup data pull dibench@mine --from FOLDER` makes it"
    )
    assert [*map(is_known, ("dibench", "dibench+x@y", "nothing", "my-set"))] == [True, True, False, False]


def test_a_folder_that_is_no_set_says_what_it_may_be(
    settings: Settings, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One without a manifest, one that is not there, and a set that is named as if it were installed."""
    monkeypatch.chdir(made.parent)
    (made.parent / "other").mkdir()
    for name in ("./other", "./absent"):
        place = made.parent / name
        assert refused(name, settings) == f"{place} is no set: it has no set.json; name a suite"
    assert refused("my-set", settings) == "my-set is a folder here; write ./my-set for the set in it"
    manifest = read_manifest(made)
    (made / "set.json").write_text(manifest.but(tasks=()).model_dump_json())
    assert refused("./my-set", settings) == (
        "the set in ./my-set has no tasks; `groundup curate yield ./my-set` says why"
    )


def test_an_installed_set_is_known_by_its_name(settings: Settings) -> None:
    """With or without its version; of two versions one must be named."""
    origin = DataOrigin(source="here", commit=None, digest="sha256:0", files=1).model_dump_json()
    for name in ("my-set@1.2", "own"):
        place = settings.data / f"@{name}/nl2repobench"
        place.mkdir(parents=True)
        (place / "origin.json").write_text(origin)
    assert named_suite("my-set", settings) == named_suite("my-set@1.2", settings) == "nl2repobench@my-set@1.2"
    assert named_suite("my-set+x", settings) == "nl2repobench+x@my-set@1.2"
    assert named_suite("own", settings) == "nl2repobench@own"
    assert named_suite("module:create", settings) == "module:create"
    assert named_suite("unknown", settings) == "unknown"
    place = settings.data / "@my-set@1.3/nl2repobench"
    place.mkdir(parents=True)
    (place / "origin.json").write_text(origin)
    with pytest.raises(UsageError) as caught:
        named_suite("my-set", settings)
    assert str(caught.value) == (
        "'my-set' may be nl2repobench@my-set@1.2 or nl2repobench@my-set@1.3; name one of them"
    )
    assert isinstance(open_suite("nl2repobench", settings), Suite)
