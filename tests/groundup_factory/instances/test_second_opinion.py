"""What a model says beside the rules."""

from pathlib import Path

import pytest

from groundup.models.opening import open_model
from groundup_factory.instances.locating import JobOpinion, ask_model, locate
from tests.workflows.made import MadeTree

FILES = {
    ".github/workflows/ci.yml": "on: push\njobs:\n  unit: {runs-on: ubuntu-latest, steps: [{run: pytest}]}\n"
    "  lint: {runs-on: ubuntu-latest, steps: [{run: ruff check}]}\n"
}


async def _opinion(tmp_path: Path, answer: str) -> JobOpinion:
    script = tmp_path / "script.toml"
    turn = f"[[conversation.turn]]\ncontent = '''{answer}'''\n"
    script.write_text(f"[[conversation]]\nwhen = '=== .github/workflows/ci.yml'\n{turn}")
    tree = MadeTree(FILES)
    async with open_model(f"scripted/{script}") as model:
        found = await ask_model(tree, locate(tree), model)
    assert found.best is not None
    assert found.best.job == "unit"
    assert found.opinion is not None
    return found.opinion


@pytest.mark.parametrize(
    ("answer", "job", "agrees"),
    [
        ('Sure: {"workflow": ".github/workflows/ci.yml", "job": "unit", "reason": "pytest"}', "unit", True),
        ('{"workflow": "ci.yml", "job": "lint", "reason": "so"}', "lint", False),
        ('{"workflow": "ci.yml", "job": "absent", "reason": "so"}', None, False),
        ('{"workflow": null, "job": null, "reason": "nothing tests"}', None, False),
        ("I cannot say.", None, False),
    ],
)
async def test_an_answer_counts_where_it_names_a_job(
    tmp_path: Path, answer: str, job: str | None, agrees: bool
) -> None:
    """Agreement, a different job, an unknown job and no answer are distinguished; the rules' answer stays."""
    opinion = await _opinion(tmp_path, answer)

    assert opinion.job == job
    assert opinion.agrees is agrees
    assert opinion.model.startswith("scripted/")
