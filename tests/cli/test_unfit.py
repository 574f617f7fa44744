"""Commands over a run whose records do not fit: each says so in one sentence, and none is a bug."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Groundup
from tests.store.folders import edit_line, write_run

COMMANDS = {
    "report": ("report", "one"),
    "report for programs": ("report", "one", "--json"),
    "compare": ("compare", "honest", "one"),
    "table of papers": ("report", "runs", "--layout", "paper"),
    "why": ("why", "one", "sqlparse"),
    "show": ("show", "one", "sqlparse"),
    "check": ("runs", "check", "one"),
    "export": ("export", "one", "out"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_names_what_does_not_fit(groundup: Groundup, tmp_path: Path, command: str) -> None:
    """Exit code 4, file and line, and where to see all of it."""
    write_run(tmp_path / "runs" / "honest", "nl2repobench")
    run = write_run(tmp_path / "runs" / "one", "nl2repobench")
    edit_line(run, 2, lambda line: line["verdict"]["score"].update(numerator=461))
    ended = groundup(*COMMANDS[command])
    assert ended.code == 4, ended.err
    said = " ".join((ended.out + ended.err).split())
    assert "verdicts.jsonl, line 2" in said
    assert "it was changed after it was" in said
    assert "461/461" not in said


def test_a_pack_of_such_a_run_is_refused(groundup: Groundup, tmp_path: Path) -> None:
    """Bad input, before anything is written."""
    run = write_run(tmp_path / "runs" / "one", "nl2repobench")
    edit_line(run, 2, lambda line: line["verdict"]["score"].update(numerator=461))
    ended = groundup("leaderboard", "pack", "one", "-o", "one.tar.gz")
    assert ended.code == 2
    assert "verdicts.jsonl, line 2: it was changed" in " ".join(ended.err.split())
    assert not (tmp_path / "one.tar.gz").exists()


def test_a_run_that_fits_is_said_to(groundup: Groundup, tmp_path: Path) -> None:
    """Several are checked at once; a program gets a document; a run is to be named."""
    for name in ("one", "two"):
        write_run(tmp_path / "runs" / name, "repogenesis")
    ended = groundup("runs", "check", "one", "two", "--json")
    assert ended.code == 0
    found = json.loads(ended.out)["runs"]
    assert [(one["run"], one["attempts"], one["faults"]) for one in found] == [("one", 3, []), ("two", 3, [])]
    assert ended.err.count("everything fits") == 2
    assert groundup("runs", "check").code == 2
