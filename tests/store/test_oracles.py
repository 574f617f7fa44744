"""Which runs of a folder judged a suite's references, told without reading them."""

import json
import os
from pathlib import Path

import pytest

from groundup.store.oracles import oracle_runs


def config(suite: str = "toy", which: str = "oracle") -> dict[str, object]:
    """Return what a run's configuration says of it."""
    return {"suite_name": suite, "configuration": {"submissions": {"which": which}}}


def run(folder: Path, document: object, changed_at: float | None = None) -> Path:
    """Write a run whose last verdict came then; without a time it has none."""
    folder.mkdir()
    (folder / "config.json").write_text(document if isinstance(document, str) else json.dumps(document))
    if changed_at is not None:
        (folder / "verdicts.jsonl").touch()
        os.utime(folder / "verdicts.jsonl", (changed_at, changed_at))
    return folder


def test_the_newest_run_of_the_suite_s_oracle_comes_first(tmp_path: Path) -> None:
    """By its last verdict; one without any is the oldest. Of equal ones the last by name comes first."""
    old, new = run(tmp_path / "z", config(), 1000.0), run(tmp_path / "a", config(), 2000.5)
    same, none = run(tmp_path / "b", config(), 2000.5), run(tmp_path / "c", config())
    run(tmp_path / "other", config("another"), 3000.0)
    run(tmp_path / "nop", config(which="nop"), 3000.0)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    assert [*oracle_runs(tmp_path, "toy")] == [(2000.5, same), (2000.5, new), (1000.0, old), (0.0, none)]
    assert [*oracle_runs(tmp_path / "absent", "toy")] == []


@pytest.mark.parametrize(
    "document",
    [
        "", "{", "[]", "3", "{}", "[" * 100_000, {"suite_name": "toy"}, {**config(), "configuration": {}},
        {**config(), "configuration": {"submissions": []}}, {**config(), "configuration": None},
        {**config(), "configuration": {"submissions": {}}}, {"configuration": config()["configuration"]},
    ],
)  # fmt: skip
def test_what_is_no_run_is_left_out(tmp_path: Path, document: object) -> None:
    """Damaged ones, too; what lies beside is found."""
    run(tmp_path / "damaged", document, 5.0)
    whole = run(tmp_path / "whole", config(), 4.0)
    assert [*oracle_runs(tmp_path, "toy")] == [(4.0, whole)]
