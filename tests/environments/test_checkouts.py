"""Where a repository that somebody names is fetched from, and what it is called."""

import os
from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.environments.checkouts import _full_name, check_out, fetched_from


@pytest.mark.parametrize("name", ["nowhere", "./nowhere", "../nowhere", "/no/where", "~/no/where"])
def test_a_folder_that_is_not_there_is_no_repository(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What could be an address is one; a word alone, or a path, is a folder."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        fetched_from(name, None)
    assert str(caught.value) == f"{name} is no folder here; name a folder, an address, or host/owner/name"


def test_a_folder_comes_before_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one in the home; names of hosts go where the mirror says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "example.org" / "owner").mkdir(parents=True)
    for name in ("example.org/owner", "./example.org/owner", "~/example.org/owner"):
        assert fetched_from(name, None) == (os.path.realpath(tmp_path / "example.org" / "owner"), True)
    assert fetched_from("git@example.org:owner/name.git", None) == ("git@example.org:owner/name.git", False)
    assert fetched_from("example.org/owner/name", "https://mirror.test/{owner}/{name}") == (
        "https://mirror.test/owner/name",
        False,
    )


@pytest.mark.parametrize("name", ["-x", "ext::sh -c x"])
async def test_what_git_would_run_is_no_repository(name: str, tmp_path: Path) -> None:
    """Before Git sees it."""
    with pytest.raises(UsageError) as caught:
        await check_out(name, None, tmp_path / "tree", tmp_path, None)
    assert str(caught.value) == f"{name!r} is no repository; name a folder, an address, or host/owner/name"


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://example.org/owner/name.git", "owner/name"),
        ("https://example.org/owner/name/", "owner/name"),
        ("git@example.org:owner/name.git", "owner/name"),
        ("example.org/group/owner/name", "owner/name"),
        ("name", None),
    ],
)
def test_a_repository_is_called_by_its_owner_and_name(address: str, name: str | None) -> None:
    """A folder of this machine has neither."""
    assert _full_name(address, is_local=False) == name
    assert _full_name(address, is_local=True) is None
