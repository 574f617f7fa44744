"""Calling the command line in this process, with settings of its own."""

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from groundup.cli.main import create_app, main
from tests.needs import need_command
from tests.runs.toy import BEHAVIOUR

TWENTY = "tests.runs.toy:create"
TWO = "tests.runs.toy:create_two"


def command_of(name: str) -> Any:
    """Return the parser of a command, such as `curate set`."""
    reached: Any = create_app()
    for word in name.split():
        reached = reached.get_command(typer.Context(reached), word)
    return reached


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


Groundup = Callable[..., Ended]
Predict = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def groundup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Groundup:
    """Run `groundup` with these arguments; runs, cache and tools are the test's own."""
    monkeypatch.delenv("GROUNDUP_DATA_DIR", raising=False)  # data is looked for in the test's own cache
    for name, value in {
        "CACHE_DIR": str(tmp_path / "cache"),
        "OUTPUT": str(tmp_path / "runs"),
        "SANDBOX": "tests.runs.toy:create_provider",
        "BUILDER": "tests.runs.toy:create_builder",
        "JOBS": "2",
        "RETRY_DELAY_S": "0",
    }.items():
        monkeypatch.setenv(f"GROUNDUP_{name}", value)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))  # nothing, which pytest's own is not

    def call(*arguments: str | Path) -> Ended:
        words = [str(argument) for argument in arguments]
        need_command(words)
        code = main(words)
        ended = capsys.readouterr()
        return Ended(code, ended.out, ended.err)

    return call


@pytest.fixture
def predict(tmp_path: Path) -> Predict:
    """Write predictions that say how grading them shall go; return their folder."""

    def write(behaviours: Mapping[str, str]) -> Path:
        for place, behaviour in behaviours.items():
            (tmp_path / "predictions" / place).mkdir(parents=True)
            (tmp_path / "predictions" / place / BEHAVIOUR).write_text(behaviour)
        return tmp_path / "predictions"

    return write
