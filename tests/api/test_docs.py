"""The examples of docs/api.md work as they stand."""

import re
from pathlib import Path

import pytest

from groundup.suites.opening import SUITES
from tests.api.conftest import Predict
from tests.runs.toy import ToySuite
from tests.runs.toy_agent import BUILDER

PAGE = Path(__file__).parents[2] / "docs" / "api.md"


def create(settings: object) -> ToySuite:
    """Return a toy suite with a task of the name that the page uses."""
    return ToySuite(1, id="sqlparse", instruction="Write it.")


def test_the_examples_run(predict: Predict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are run one after the other, as a reader would, with a toy in place of the benchmark."""
    monkeypatch.setitem(SUITES.shipped, "nl2repobench", lambda: create)
    sandbox = "tests.sandbox.fake:create"
    for name, value in {"CACHE_DIR": str(tmp_path / "cache"), "SANDBOX": sandbox, "BUILDER": BUILDER}.items():
        monkeypatch.setenv(f"GROUNDUP_{name}", value)
    monkeypatch.chdir(tmp_path)
    predict({"sqlparse": "half"})
    names: dict[str, object] = {}
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(examples) == 4
    for example in examples:
        exec(compile(example, str(PAGE), "exec"), names)
    assert "live" in names
