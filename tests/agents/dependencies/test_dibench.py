"""The three ways of asking, on DI-Bench through the command line: from a masked repository to a score."""

import json
from pathlib import Path

import pytest

from groundup.agents.answers import fenced
from tests.suites.dibench.conftest import Groundup, dataset, groundup
from tests.suites.dibench.made import JAVASCRIPT_ORIGINAL, PYTHON_ORIGINAL, RUST_ORIGINAL

__all__ = ["dataset", "groundup"]  # fixtures of the suite's own tests

WHOLE = "one_alpha", "two_beta", "three_gamma"
ORIGINALS = {"pyproject.toml": PYTHON_ORIGINAL, "Cargo.toml": RUST_ORIGINAL, "package.json": JAVASCRIPT_ORIGINAL}


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A model that knows the build files by heart; of C# it knows nothing."""
    rules = [
        {"when": f"(?s)(Merge what|build files as they are now).*path={path}\n", "content": fenced(path, content)}
        for path, content in ORIGINALS.items()
    ]
    single = {"when": "one source file", "content": json.dumps({path: ["something"] for path in ORIGINALS})}
    script = tmp_path / "script.json"
    script.write_text(
        json.dumps({"rule": [single, *rules], "turn": [{"content": "I do not know."}], "then": "repeat"})
    )
    return f"scripted/{script}"


@pytest.mark.parametrize("agent", ["all-in-one", "imports-only", "file-iterate"])
def test_a_model_that_knows_gets_everything(groundup: Groundup, model: str, agent: str, tmp_path: Path) -> None:
    """In every language; only changed build files are handed in; exported patches score the same."""
    ended = groundup("run", "dibench", "-a", agent, "-m", model, "--run-id", "one", "--json")
    assert ended.code == 0, ended.err
    rows = {row["task"]: row["score"] for row in ended.document["runs"][0]["attempts"]}
    assert all(rows[name]["numerator"] == rows[name]["denominator"] for name in WHOLE)
    assert rows["four_delta"]["numerator"] == 0
    handed_in = tmp_path / "runs/one/attempts/two_beta/0/submission"
    assert [path.name for path in handed_in.rglob("*")] == ["Cargo.toml"]
    assert groundup("export", "one", tmp_path / "patches", "--format", "patch").code == 0
    assert (tmp_path / "patches/rust/two_beta/patch.diff").read_text().startswith("--- a/Cargo.toml\n")
    again = groundup("evaluate", "dibench", "-p", tmp_path / "patches", "--json")
    assert {row["task"]: row["score"] for row in again.document["runs"][0]["attempts"]} == rows


@pytest.mark.parametrize("agent", ["all-in-one", "imports-only", "file-iterate"])
def test_a_dry_run_says_what_it_will_cost(groundup: Groundup, model: str, agent: str) -> None:
    """Tokens are counted in the masked repositories, and money by the price; nothing is asked."""
    planned = groundup(
        "run", "dibench", "-a", agent, "-m", model, "-k", "2", "--price", "1:2", "--dry-run", "--json"
    )
    assert planned.code == 0, planned.err
    estimate = planned.document["estimate"]
    assert estimate["attempts"] == 8
    usage = estimate["usage"]
    assert estimate["cost_usd"] == pytest.approx((usage["input_tokens"] + 2 * usage["output_tokens"]) / 1e6)
    assert usage["input_tokens"] > 0
