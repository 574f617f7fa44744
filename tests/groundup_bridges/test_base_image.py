"""A base image with packages: made without a daemon, taken by agents' sandboxes."""

from pathlib import Path

import pytest

from groundup.domain.errors import UsageError
from groundup.environments.images import unpacked
from groundup.environments.layers import layer_store
from groundup.sandbox.bubblewrap import create
from groundup.sandbox.debian import packages
from groundup.sandbox.inventory import image_inventory
from groundup.sandbox.protocol import Command, SandboxSpec
from groundup.settings import Settings
from groundup_bridges.base_image import build_base, with_needs
from tests.needs import real_sandboxes


@pytest.mark.end_to_end
async def test_a_package_comes_with_what_it_needs(tmp_path: Path) -> None:
    """Its programs start in a sandbox that has nothing else of this machine, and are named by their versions."""
    known = packages(Path("/"))
    if "grep" not in known:
        pytest.skip("this machine is not of Debian's kind")
    settings = Settings(cache_dir=tmp_path / "cache")
    folder = tmp_path / "base"
    first = build_base("own/base", folder, ["grep"])
    assert build_base("own/base", tmp_path / "again", ["grep"]) == first, "the same programs, the same image"
    image = await unpacked(str(folder), layer_store(settings))
    assert image_inventory(image).programs["grep"] == f"grep {known['grep'].version}"
    (tmp_path / "workspace").mkdir()
    async with real_sandboxes(settings, tmp_path / "try"), create(settings) as provider:
        sandbox = await provider.open(image.within(SandboxSpec(workspace=tmp_path / "workspace")))
        told = await sandbox.run(Command(argv=("sh", "-c", "grep --version; ls /usr/bin/git")))
        await sandbox.close()
    assert b"grep" in told.stdout
    assert b"No such file" in told.stderr


def test_an_unknown_package_makes_no_folder(tmp_path: Path) -> None:
    """It is refused before anything is written."""
    with pytest.raises(UsageError, match="nosuchpackage"):
        build_base("own/base", tmp_path / "base", ["nosuchpackage"])
    assert not (tmp_path / "base").exists()


def test_what_a_package_needs_comes_with_it(debian: Path) -> None:
    """Through choices, virtual packages and circles."""
    assert [one.name for one in with_needs(packages(debian), ["git"])] == ["exim", "git", "libc6", "perl"]


def test_a_package_that_is_not_installed_is_named(debian: Path) -> None:
    """With the nearest name."""
    with pytest.raises(UsageError, match="gti"):
        with_needs(packages(debian), ["gti"])
