"""Tests of groundup.registries.pypi.poetry: Poetry finds the index without a setting of its own."""

import subprocess
import sys
from importlib import import_module
from importlib.metadata import distributions
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from groundup.registries.pypi.poetry import VARIABLE, lay_poetry_plugin, lend_poetry_plugin


class Repository:
    """Stands for Poetry's repositories."""

    def __init__(self, name: str = "PyPI", url: str = "public", config: object = None) -> None:
        self.name, self.url, self.config = name, url, config


class Pool:
    """Stands for Poetry's pool of repositories."""

    def __init__(self, repository: Repository) -> None:
        self.repositories = {"PyPI": (repository, "primary")}

    def has_repository(self, name: str) -> bool:
        """Return whether it has it."""
        return name in self.repositories

    def repository(self, name: str) -> Repository:
        """Return it."""
        return self.repositories[name][0]

    def get_priority(self, name: str) -> str:
        """Return its priority."""
        return self.repositories[name][1]

    def remove_repository(self, name: str) -> None:
        """Remove it."""
        del self.repositories[name]

    def add_repository(self, repository: Repository, priority: str) -> None:
        """Add it."""
        self.repositories[repository.name] = (repository, priority)


class Poetry:
    """Stands for Poetry at work."""

    config = "configuration"

    def __init__(self, repository: Repository) -> None:
        self.pool = Pool(repository)


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The plugin as Poetry finds and loads it, with stand-ins for what it takes from Poetry."""
    lay_poetry_plugin(tmp_path)
    public = type("PyPiRepository", (Repository,), {})
    for name, kind, stand_in in (
        ("poetry.plugins.plugin", "Plugin", type("Plugin", (), {})),
        ("poetry.repositories.legacy_repository", "LegacyRepository", Repository),
        ("poetry.repositories.pypi_repository", "PyPiRepository", public),
    ):
        module = ModuleType(name)
        setattr(module, kind, stand_in)
        monkeypatch.setitem(sys.modules, name, module)
    for name in ("poetry", "poetry.plugins", "poetry.repositories"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.syspath_prepend(tmp_path)
    found = next(iter(distributions(path=[str(tmp_path)])))
    entry = next(iter(found.entry_points))
    assert entry.group == "poetry.plugin"
    yield entry.load()(), import_module("poetry.repositories.pypi_repository").PyPiRepository
    sys.modules.pop(entry.module, None)


def test_poetry_asks_the_gateway_in_the_place_of_the_public_index(
    plugin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The public index, and only that, is replaced at its own rank, where a gateway is named."""
    made, public = plugin
    monkeypatch.setenv(VARIABLE, "http://127.0.0.1:29101/simple/")
    poetry = Poetry(public())
    made.activate(poetry, None)
    found, priority = poetry.pool.repositories["PyPI"]
    assert (found.url, found.config, priority) == ("http://127.0.0.1:29101/simple", "configuration", "primary")
    own = Poetry(Repository(url="a project's own"))
    made.activate(own, None)
    assert own.pool.repository("PyPI").url == "a project's own"


def test_poetry_is_left_alone_without_a_gateway(plugin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is named, nothing changes."""
    made, public = plugin
    monkeypatch.delenv(VARIABLE, raising=False)
    poetry = Poetry(public())
    made.activate(poetry, None)
    assert poetry.pool.repository("PyPI").url == "public"


@pytest.mark.parametrize(("program", "found"), [("poetry", True), ("pip", False)])
def test_nothing_but_poetry_finds_a_lent_plugin(program: str, found: bool, tmp_path: Path) -> None:
    """Where an agent works, `pip freeze` must not name a package that no index has."""
    packages = tmp_path / "lib/python3.12/site-packages"
    packages.mkdir(parents=True)
    (packages / "plugin.pth").write_text(lend_poetry_plugin(tmp_path, str(tmp_path)))
    script = tmp_path / program
    script.write_text(
        "import site, sys\nfrom importlib.metadata import distributions\nsite.addsitedir(sys.argv[1])\n"
        "found = [one for one in distributions() if 'poetry_index' in one.metadata['Name']]\n"
        "print([(one.metadata['Name'], [entry.value for entry in one.entry_points]) for one in found])\n"
    )
    run = subprocess.run([sys.executable, script, packages], capture_output=True, text=True, check=True)
    entry = "[('groundup_poetry_index', ['groundup_poetry_index:IndexPlugin'])]"
    assert (run.stdout.strip(), run.stderr) == (entry if found else "[]", "")
