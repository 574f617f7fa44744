"""All that is said of predictions with every kind of mistake: verdicts, names, tables, by both textual graders.

`RECORD=1 pytest tests/suites/dibench/test_golden.py` writes golden/ anew: read what changed, for users see it.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.suites.dibench.conftest import Groundup
from tests.suites.dibench.made import (
    CSHARP_ORIGINAL,
    JAVASCRIPT_ORIGINAL,
    PYTHON_MASKED,
    RUST_MASKED,
    diff,
    write_prediction,
    write_tree,
)

GOLDEN = Path(__file__).parent / "golden"
PYTHON = PYTHON_MASKED.replace(
    'dependencies = []\n\n[dependency-groups]\ndev = ["pytest"]',
    'dependencies = [\n    "requests>=99",\n    "made-up-name",\n    "old",\n    "a @ https://example.org/a.zip",\n'
    ']\n\n[dependency-groups]\ndev = ["pytest", "PyYAML"]',
)
RUST = RUST_MASKED + (
    'serde = "1.0.100"\nmade-up-name = "1"\nother = { path = "absent" }\ncore = { workspace = true }\n\n'
    '[dev-dependencies]\nbeta_core = "1"\n'
)
JAVASCRIPT = JAVASCRIPT_ORIGINAL.replace('"left-pad": "^1.3.0"', '"leftpad": "^1.3.0"').replace(
    '"jest": "^29.0.0"', '"jest": "^28.0.0",\n    "left-pad": "2 || latest"'
)
CSHARP = CSHARP_ORIGINAL.replace("13.0.1", "[12.0]").replace("..\\Core\\Core.csproj", "..\\Cor\\Core.csproj")
FIELDS = ("status", "score", "scores", "facts", "counts", "reasons", "cacheable", "complete")


def _write(folder: Path) -> None:
    """Write predictions: `many` mistakes; in `some`, what is given twice, unreadable, a tree, and left out."""
    write_prediction(folder / "many", "one_alpha", {"pyproject.toml": PYTHON})
    write_prediction(folder / "many", "two_beta", {"Cargo.toml": RUST})
    write_prediction(folder / "many", "three_gamma", {"package.json": JAVASCRIPT})
    write_prediction(folder / "many", "four_delta", {"App/App.csproj": CSHARP})
    twice = PYTHON_MASKED.replace("dependencies = []", 'dependencies = ["requests", "Requests>=2.31", "pyyaml"]')
    write_prediction(folder / "some", "one_alpha", {"pyproject.toml": twice})
    write_prediction(folder / "some", "two_beta", {"Cargo.toml": RUST_MASKED + "serde = \n"})
    tree = {"package.json": JAVASCRIPT_ORIGINAL.replace('"name"', '"license": "MIT",\n  "name"'), "new.js": "x\n"}
    write_tree(folder / "some" / "javascript" / "three_gamma", tree)
    outside = diff({}, {"../../out.txt": "x\n"}).replace("a/../../out.txt", "/dev/null", 1)
    write_tree(folder / "bad" / "python" / "one_alpha", {"patch.diff": outside})
    write_tree(folder / "bad" / "rust" / "two_beta", {"patch.diff": "no patch\n"})
    write_tree(folder / "bad" / "csharp" / "four_delta", {"patch.diff": ""})


def _told(groundup: Groundup, folder: Path, run: str) -> Iterator[str]:
    place = folder / "runs" / run
    for line in sorted((place / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()):
        document = json.loads(line)
        attempt, verdict = document["attempt"]["task"], document["verdict"] or {}
        yield f"##### {run}: {attempt} {document['outcome']}"
        yield from (f"{name}: {json.dumps(verdict.get(name))}" for name in FIELDS)
        tests = place / "attempts" / attempt / "0" / "tests.jsonl"
        for test in tests.read_text(encoding="utf-8").splitlines() if tests.is_file() else ():
            known = json.loads(test)
            yield " | ".join(str(known.get(name, "")) for name in ("outcome", "id", "message", "detail"))
    for command in (f"report {run}", f"report {run} --layout paper", f"why {run}"):
        ended = groundup(*command.split())
        yield f"##### {command}: {ended.code}"
        yield from (line.rstrip() for line in f"{ended.out}{ended.err}".splitlines())
    document = groundup("report", run, "--json").document["runs"][0]
    for summary in document["summaries"]:
        yield f"##### {run}: {summary['headline']}"
        for group, scores in summary["scores"].items():
            rates = (f"{name} {score['numerator']:g}/{score['denominator']:g}" for name, score in scores.items())
            yield f"{group}: {', '.join(rates)}"


@pytest.mark.parametrize("grader", ["strict", "official"])
def test_predictions_are_judged_as_ever(
    grader: str, groundup: Groundup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each field that does not hang on time, each name with its file and line, each table."""
    monkeypatch.setenv("COLUMNS", "160")
    _write(tmp_path / "given")
    lines: list[str] = []
    for name in ("many", "some", "bad"):
        ended = groundup(
            "evaluate", "dibench", "-p", tmp_path / "given" / name, "--grader", grader, "--run-id", name
        )
        assert ended.code == 0, ended.err
        lines += _told(groundup, tmp_path, name)
    text = "\n".join(lines).replace(str(tmp_path), "FOLDER") + "\n"
    file = GOLDEN / f"{grader}.txt"
    if os.environ.get("RECORD"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")
