"""The code that decides a verdict is found by its imports, and each change of it is noticed."""

import sys
from pathlib import Path

import pytest

from groundup.store.verdict_cache import code_digest, modules_behind


def test_a_grader_is_decided_by_what_it_imports() -> None:
    """The trusted runner's neighbours, the sandbox and the layers are among it; the command line is not."""
    found = modules_behind("groundup.suites.nl2repobench.strict")

    assert {"groundup.grading.library.decision", "groundup.grading.library.check"} <= found
    assert {"groundup.sandbox.protocol", "groundup.environments.requests"} <= found
    assert not any(name.startswith(("groundup.cli", "groundup.runs", "groundup.agents")) for name in found)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a package with a grader of somebody else's."""
    folder = tmp_path / "foreign_suite"
    (folder / "data").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "grader.py").write_text(
        "import os\n\ndef late():\n    from foreign_suite import (\n        rules,\n    )\n"
    )
    (folder / "rules.py").write_text("POINTS = 1\n")
    (folder / "data/runner.txt").write_text("run\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "foreign_suite", raising=False)
    return folder


@pytest.mark.parametrize("name", ["grader.py", "rules.py", "data/runner.txt"])
def test_a_change_of_what_decides_is_another_digest(package: Path, name: str) -> None:
    """The grader itself, what it imports late and what lies beside it all count."""
    code_digest.cache_clear()
    before = code_digest("foreign_suite.grader")
    code_digest.cache_clear()
    assert code_digest("foreign_suite.grader") == before

    (package / name).write_text((package / name).read_text() + "\n# changed\n")
    code_digest.cache_clear()
    assert code_digest("foreign_suite.grader") != before
