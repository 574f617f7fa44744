"""The tiny dataset, pulled, and the command line with settings of the test's own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from groundup.cli.main import main
from groundup.settings import Settings
from groundup.suites.dibench.dataset import InstanceSet, read_dataset
from groundup.suites.pulling import take_folder
from tests.needs import need_command
from tests.shared import once
from tests.suites.dibench.made import write_dataset, write_snapshot


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The JSON document that it printed."""
        return json.loads(self.out)


Groundup = Callable[..., Ended]


@pytest.fixture
def dataset(tmp_path: Path) -> InstanceSet:
    """The tiny dataset, read from where it was written."""
    return read_dataset(write_dataset(tmp_path / "source"))


@pytest.fixture(scope="session")
def layers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Environments for jobs of all tests: they are made once, and what they hold is no test's subject."""
    return once(tmp_path_factory, "layers-jobs", Path.mkdir)


@pytest.fixture
def groundup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Groundup:
    """Run `groundup` with the tiny dataset pulled, and a snapshot of the registries."""
    snapshot = write_snapshot(tmp_path / "names.jsonl")
    for name, value in {
        "CACHE_DIR": str(tmp_path / "cache"),
        "OUTPUT": str(tmp_path / "runs"),
        "SANDBOX": "tests.runs.toy:create_provider",
        "BUILDER": "tests.runs.toy:create_builder",
        "REGISTRY": str(snapshot),
        "JOBS": "2",
    }.items():
        monkeypatch.setenv(f"GROUNDUP_{name}", value)
    monkeypatch.delenv("GROUNDUP_DATA_DIR", raising=False)  # of whoever runs the tests
    monkeypatch.chdir(tmp_path)
    source = write_dataset(tmp_path / "source", large=("four_delta",))
    take_folder("dibench", source, Settings(cache_dir=tmp_path / "cache"), unpack=True)

    def call(*arguments: str | Path) -> Ended:
        need_command([str(argument) for argument in arguments])
        code = main([str(argument) for argument in arguments])
        ended = capsys.readouterr()
        return Ended(code, ended.out, ended.err)

    return call
