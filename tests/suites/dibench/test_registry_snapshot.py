"""`groundup registry snapshot`: names from a benchmark and from a run, asked once."""

import json
import os
from pathlib import Path

import pytest

from tests.registries.files_served import served
from tests.suites.dibench.conftest import Groundup
from tests.suites.dibench.made import JAVASCRIPT_ORIGINAL, write_prediction


def test_names_come_from_the_data_and_from_runs(
    groundup: Groundup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Registries that cannot be asked are reported and leave the exit code at 3; what is in the file is kept."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "site").mkdir()
    with served(tmp_path / "site") as address:
        version = {"dist": {"tarball": f"{address}/left-pad-1.3.0.tgz", "shasum": "0" * 40}}
        (tmp_path / "site/left-pad").write_text(json.dumps({"name": "left-pad", "versions": {"1.3.0": version}}))
        settings = json.dumps({"registry": address})
        (tmp_path / "bin/npm").write_text(f"#!/bin/sh\necho '{settings}'\n")
        (tmp_path / "bin/npm").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.defpath}")
        monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
        monkeypatch.setenv("UV_INDEX", "")
        first = groundup("registry", "snapshot", "--names-from", "dibench", "-o", "new.jsonl", "--json")
        assert first.code == 3
        assert first.document["asked"] == 5
        wrong = JAVASCRIPT_ORIGINAL.replace("left-pad", "made-up-name")
        write_prediction(tmp_path / "results", "three_gamma", {"package.json": wrong})
        ended = groundup("evaluate", "dibench", "-p", tmp_path / "results", "--tasks", "three_gamma", "--json")
        run = ended.document["runs"][0]["run_id"]
        second = groundup("registry", "snapshot", "--names-from", run, "-o", "new.jsonl", "--json")
    assert second.code == 0, second.err
    assert second.document["asked"] == 1
    rows = {row["name"]: row for row in map(json.loads, (tmp_path / "new.jsonl").read_text().splitlines())}
    assert rows["left-pad"]["versions"] == ["1.3.0"]
    assert rows["made-up-name"]["exists"] is False


def test_a_suite_without_names_is_refused(groundup: Groundup) -> None:
    """A snapshot is of no use to a benchmark that asks no registry."""
    ended = groundup("registry", "snapshot", "--names-from", "tests.runs.toy:create", "-o", "x.jsonl")
    assert ended.code == 2
    assert "asks no registry" in ended.err
