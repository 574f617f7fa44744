"""`groundup view`: which folder is shown, and which page of it."""

from pathlib import Path

import pytest

from groundup.cli import view
from groundup.domain.errors import UsageError
from groundup.settings import Settings
from tests.cli.conftest import Groundup
from tests.store.folders import write_run


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Two runs in the output folder, one beside it."""
    for name in ("runs/a+b", "runs/two", "other/three"):
        write_run(tmp_path / name, "nl2repobench")
    return Settings(output=tmp_path / "runs", cache_dir=tmp_path / "cache")


def test_runs_have_pages(settings: Settings, tmp_path: Path) -> None:
    """A folder its list, one run its own, several their comparison."""
    runs, other = tmp_path / "runs", tmp_path / "other"
    for given, place in (
        ((), (runs, "/")),
        ((str(other),), (other, "/")),
        (("a+b",), (runs, "/run/a%2Bb")),
        ((str(other / "three"),), (other, "/run/three")),
        (("a+b", "two"), (runs, "/compare?run=a%2Bb&run=two")),
    ):
        assert view._place(given, settings) == place


def test_what_cannot_be_shown_is_told(settings: Settings, tmp_path: Path) -> None:
    """Runs of several folders, and a folder that is not there."""
    for given, said in (
        (
            ("two", str(tmp_path / "other" / "three")),
            f"these runs lie in several folders ({tmp_path / 'runs'}, {tmp_path / 'other'}); view one of them",
        ),
        (("tow",), f"unknown run 'tow'; did you mean 'two'? There are a+b, two (looked in {tmp_path / 'runs'}; "),
    ):
        with pytest.raises(UsageError) as refused:
            view._place(given, settings)
        assert str(refused.value).startswith(said)
    with pytest.raises(UsageError) as refused:
        view._place((), settings.but(output=tmp_path / "none"))
    assert str(refused.value) == f"there is no folder {tmp_path / 'none'}; name one with runs"


def test_trajectories_are_of_a_site(groundup: Groundup) -> None:
    """A server shows them anyway."""
    ended = groundup("view", "--trajectories")
    assert (ended.code, ended.err) == (
        2,
        "groundup: --trajectories goes with --bundle; the pages of a server have them anyway\n",
    )
