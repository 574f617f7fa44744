"""Packages beside groundup: what they add is found by name, and one sentence stands where they are absent."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import groundup as groundup_package
from groundup import extensions
from groundup.catalog import Table
from groundup.cli.main import GATHERED, JOBS, every_command
from groundup.domain.errors import UsageError
from groundup.extensions import EXTENSIONS, ExtensionPackage
from tests.cli.conftest import Groundup

SOURCES = Path(__file__).parents[2] / "src"


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every extension package be absent."""
    monkeypatch.setattr(ExtensionPackage, "present", lambda self: False)


def test_every_package_beside_groundup_is_registered() -> None:
    """No folder of the sources is left out; the name that verifiers knows is one module."""
    beside = {path.parent.name for path in SOURCES.glob("*/__init__.py")} - {"groundup", "groundup_verifiers"}
    assert beside == {one.name for one in EXTENSIONS if one.present()}


@pytest.mark.parametrize("package", [one for one in EXTENSIONS if one.present()], ids=lambda one: one.name)
def test_what_a_package_adds_is_there(package: ExtensionPackage) -> None:
    """Each kind of table that its row names has entries, each of which loads."""
    for kind in package.adds:
        added = getattr(import_module(package.module), extensions.table_of(kind))
        assert added
        for load in added.values():
            assert load() is not None


@pytest.mark.parametrize("package", [one for one in EXTENSIONS if one.present()], ids=lambda one: one.name)
def test_what_a_package_offers_is_there(package: ExtensionPackage) -> None:
    """Its commands, and the functions that `import groundup` offers, lie where its row says."""
    for place in package.commands.values():
        module, _, name = place.partition(":")
        assert callable(getattr(import_module(f"{package.name}.{module}"), name))
    for name in package.offers:
        assert callable(getattr(groundup_package, name))


@pytest.mark.usefixtures("without")
@pytest.mark.parametrize("command", [name for one in EXTENSIONS for name in one.commands])
def test_a_command_of_an_absent_package_says_so(command: str, groundup: Groundup) -> None:
    """With any arguments, and when asked for help: exit code 2, and which package it needs."""
    (owner,) = (one for one in EXTENSIONS if command in one.commands)
    for more in (["--never-heard-of", "1"], ["--help"], []):
        ended = groundup(*command.split(), *more)
        assert ended.code == 2
        assert f"needs the package {owner.name}, which is not here" in ended.err


@pytest.mark.usefixtures("without")
def test_help_leaves_out_what_is_absent(groundup: Groundup) -> None:
    """Neither list names groups and commands that do not work here."""
    words = {name.partition(" ")[0] for one in EXTENSIONS for name in one.commands}
    whole = groundup("help", "all").out
    listed = {line.split()[0] for line in whole.splitlines() if line.startswith("  ") and line[2:3].strip()}
    own = {name.partition(" ")[0] for name in every_command()}
    assert own - {name for names in GATHERED.values() for name in names} <= listed
    assert not (words - own) & listed
    (more,) = (part for part in groundup("--help").out.split("\n\n") if part.startswith("More"))
    assert not (words - own) & set(more.replace(",", " ").split())
    assert words <= {name for names in JOBS.values() for name in names}


@pytest.mark.usefixtures("without")
@pytest.mark.parametrize(
    ("name", "command"),
    [("recipe", "recipe fingerprint"), ("task recipe", "recipe fingerprint"), ("task", "curate")],
)
def test_a_group_without_a_command_says_what_it_needs(name: str, command: str, groundup: Groundup) -> None:
    """Where all that it holds is absent, its help names the package of the first."""
    ended = groundup(*name.split(), "--help")
    said = " ".join(ended.out.split())
    assert (ended.code, ended.err) == (0, "")
    assert f"`groundup {command}` needs the package groundup_factory, which is not here" in said
    assert "Commands:" not in said


@pytest.mark.usefixtures("without")
def test_a_table_says_which_package_it_lacks() -> None:
    """Where nothing has the name, the error lists what there is, and what an absent package would add."""
    kind, package = next((kind, one) for one in EXTENSIONS for kind in one.adds)
    needs = f"{re.escape(package.purpose)} needs the package {package.name}"
    with pytest.raises(UsageError, match=f"^{needs}"):
        Table[Any](kind, {}).find("dask")
    with pytest.raises(UsageError, match=rf"^unknown {kind} 'dask'; choose from: own; .*{needs}"):
        Table[Any](kind, {"own": lambda: 1}).find("dask")
