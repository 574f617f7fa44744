"""What a user has set: file, environment, flags; and every sentence about what cannot be read."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from groundup import configuration
from groundup.configuration import (
    default_cache,
    gathered,
    origin,
    unusable_surroundings,
    with_home,
    without_plugins_of_records,
    words_with_home,
)
from groundup.domain.errors import UsageError

KNOWN = ("cache_dir", "jobs", "index_url")


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder to work in, a home, and no setting of whoever runs the tests."""
    for name in [*os.environ]:
        if name.startswith("GROUNDUP_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("file", "variables", "flags", "found"),
    [
        ("", {}, {}, {}),
        ("[settings]\njobs = 3\nother = true\n", {}, {}, {"jobs": 3, "other": True}),
        ("[settings]\njobs = 3\n", {"JOBS": "4"}, {}, {"jobs": "4"}),
        ("[settings]\njobs = 3\n", {"JOBS": ""}, {}, {"jobs": 3}),
        ("[settings]\njobs = 3\n", {"JOBS": "4"}, {"jobs": 5, "index_url": None}, {"jobs": 5}),
        ("[settings]\njobs = 3\n", {}, {"jobs": 0}, {"jobs": 0}),
        ("", {"UNKNOWN": "4"}, {"more": False}, {"more": False}),
        ("[settings]\ncache_dir = '~/c'\n", {"INDEX_URL": "~"}, {}, {"cache_dir": "HOME/c", "index_url": "HOME"}),
        ("[settings]\ncache_dir = '/a/~/c'\n", {"INDEX_URL": "~a/b"}, {},
         {"cache_dir": "/a/~/c", "index_url": "~a/b"}),
        ("\ufeff[settings]\njobs = 3\n[[run]]\nsuite = 'x'\n", {}, {"cache_dir": "~/x"},
         {"jobs": 3, "cache_dir": "~/x"}),
    ],
)  # fmt: skip
def test_a_flag_beats_a_variable_beats_the_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    variables: Mapping[str, str],
    flags: Mapping[str, object],
    found: Mapping[str, object],
) -> None:
    """An empty variable sets nothing; a home stands for `~` in both; flags have theirs already."""
    for name, value in variables.items():
        monkeypatch.setenv(f"GROUNDUP_{name}", value)
    if file:
        Path("groundup.toml").write_text(file, encoding="utf-8")
    got = gathered(KNOWN, flags)
    wanted = {
        key: str(one).replace("HOME", str(tmp_path)) if isinstance(one, str) else one for key, one in found.items()
    }
    assert got == wanted
    if file:
        Path("groundup.toml").rename("mine.toml")
        assert gathered(KNOWN, flags, Path("mine.toml")) == wanted


def test_where_a_value_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever sets it in the end."""
    assert origin("jobs", {"jobs": None}) == "groundup.toml, setting jobs"
    assert origin("jobs", {}, Path("a/mine.toml")) == "a/mine.toml, setting jobs"
    monkeypatch.setenv("GROUNDUP_JOBS", "3")
    assert origin("jobs", {"jobs": None}) == "the variable GROUNDUP_JOBS"
    assert origin("jobs", {"jobs": 0}) == "setting jobs"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("jobs = 3", "'jobs' stands in no table; settings stand below a line [settings], runs below [[run]]"),
        ("settings = 3", "settings must be a table; write [settings], and each setting on a line below"),
        ("[settings]\njobs = ''", "setting jobs is empty; give it a value or leave it out"),
        ("[settings\n", "not valid TOML: Expected ']' at the end of a table declaration"),
        ("a = " + "[" * 100_000, "not valid TOML: "),
        ("a = " + "1" * 5000, "not valid TOML: "),
    ],
)
def test_a_file_that_says_nothing_usable_is_named(text: str, says: str) -> None:
    """With what to write instead."""
    Path("groundup.toml").write_text(text)
    with pytest.raises(UsageError) as refused:
        gathered(KNOWN, {})
    assert str(refused.value).startswith(f"groundup.toml{',' if 'is empty' in says else ':'} {says}")
    if says.startswith("not valid"):
        assert str(refused.value).endswith("; mend the file, or remove it")


def test_what_is_no_file_is_named() -> None:
    """A folder, a device, nothing, a link to nothing, what is too large: each as what it is."""
    Path("folder").mkdir()
    Path("link").symlink_to("nowhere")
    os.mkfifo("pipe")
    Path("large").write_bytes(b"# " + b"x" * (16 * 1024 * 1024 - 1))
    advice = "so no setting can be read from it; write a file with TOML, or move it"
    for name, what in (
        ("folder", "a folder"),
        ("link", "a link that leads to no file"),
        ("pipe", "no regular file"),
        ("nothing", "not there"),
        ("large", "no regular file"),
    ):
        with pytest.raises(UsageError) as refused:
            gathered(KNOWN, {}, Path(name))
        assert str(refused.value) == f"{name} is {what}, {advice}"
    Path("large").write_bytes(b"# " + b"x" * (16 * 1024 * 1024 - 2))
    assert gathered(KNOWN, {}, Path("large")) == {}
    Path("groundup.toml").symlink_to("nowhere")
    with pytest.raises(UsageError, match=r"^groundup\.toml is a link that leads to no file, "):
        gathered(KNOWN, {})


def test_a_file_that_may_not_be_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With why."""
    Path("groundup.toml").touch()

    def refuse(path: Path, encoding: str) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(UsageError) as refused:
        gathered(KNOWN, {})
    assert str(refused.value) == "groundup.toml cannot be read: Permission denied; change its mode, or move it"


def test_the_cache_is_where_the_desktop_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or in the home; an empty variable says nothing."""
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert default_cache() == tmp_path / ".cache/groundup"
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/c")
    assert default_cache() == Path("/var/c/groundup")


def test_surroundings_that_cannot_be_used_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home that is a file, is closed, or is unknown; a folder that is gone."""
    assert unusable_surroundings() == ""
    monkeypatch.setenv("HOME", "")
    assert unusable_surroundings() == ""
    monkeypatch.setenv("HOME", str(tmp_path / "absent"))
    assert unusable_surroundings() == ""
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    assert unusable_surroundings() == f"HOME is {tmp_path}/file, which is a file; set it to a folder"
    with monkeypatch.context() as closed:
        closed.setenv("HOME", str(tmp_path))
        closed.setattr(os, "access", lambda path, mode: (path, mode) != (str(tmp_path), os.X_OK))
        closed_home = (
            f"HOME is {tmp_path}, which this user may not enter; set it to a folder of yours, as `sudo -H` does"
        )
        assert unusable_surroundings() == closed_home

    def homeless() -> Path:
        raise RuntimeError

    with monkeypatch.context() as nobody:
        nobody.setattr(Path, "home", homeless)
        assert unusable_surroundings() == "HOME is not set, and this user has no home; set it to a folder"
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert unusable_surroundings() == "the working directory was removed; change to one that is there"


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["~", "~/a", "x~/a", "~a"], ["HOME", "HOME/a", "x~/a", "~a"]),
        (["--output=~/a", "-o=~/a", "--a=b=~/c"], ["--output=HOME/a", "-o=HOME/a", "--a=b=HOME/c"]),
        (["--flag", "a=~/b"], ["--flag", "a=~/b"]),
        (["-c", "~/a", "~/b"], ["-c", "~/a", "HOME/b"]),
        (["--command", "~/a"], ["--command", "~/a"]),
        (["--command=~/a", "~/b"], ["--command=~/a", "HOME/b"]),
        ([], []),
    ],
)
def test_a_home_stands_for_its_sign(tmp_path: Path, words: list[str], meant: list[str]) -> None:
    """Also behind an equals sign; commands in sandboxes keep it."""
    assert words_with_home(words) == [word.replace("HOME", str(tmp_path)) for word in meant]
    assert with_home("~/a/b") == f"{tmp_path}/a/b"


def test_records_look_for_no_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless somebody wants some."""
    monkeypatch.delenv("PYDANTIC_DISABLE_PLUGINS", raising=False)
    without_plugins_of_records()
    assert configuration.environment()["PYDANTIC_DISABLE_PLUGINS"] == "__all__"
    monkeypatch.setenv("PYDANTIC_DISABLE_PLUGINS", "mine")
    without_plugins_of_records()
    assert os.environ["PYDANTIC_DISABLE_PLUGINS"] == "mine"
