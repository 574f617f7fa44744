"""Examples in Python: that of docs/developers/manifests.md runs, and no page has one that no test runs."""

from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, blocks
from tests.needs import trouble

RUN_BY = {
    "api.md": "tests/api/test_docs.py",
    "curate.md": "tests/groundup_factory/test_curate_set.py",
    "harnesses.md": "tests/groundup_bridges/test_clients.py",
    "manifests.md": "tests/docs/test_python_examples.py",
    "own-agents.md": "tests/docs/test_own_agents.py",
    "serving.md": "tests/serving/test_clients.py",
    "tutorial.md": "tests/docs/test_commands.py",
}


def test_the_example_of_manifests_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads, masks and writes a manifest, and what it writes declares what it read."""
    text = '[project]\nname = "mine"\nversion = "1"\ndependencies = ["click>=8"]\n'
    (tmp_path / "backend").mkdir()
    (tmp_path / "backend" / "pyproject.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    (example,) = (
        block.text for block in blocks(ROOT / "docs" / "developers" / "manifests.md") if block.language == "python"
    )
    names: dict[str, object] = {}
    exec(example, names)  # what the page tells readers to type
    assert b"click>=8" in bytes(names["written"])  # type: ignore[call-overload]
    assert b"click" not in bytes(names["masked"])  # type: ignore[call-overload]


def test_every_example_in_python_is_run_by_a_test() -> None:
    """A new page with one says here which test runs it; the test names the page."""
    shown = {page.name for page in PAGES for block in blocks(page) if block.language == "python"}
    assert shown == RUN_BY.keys()
    for name, test in RUN_BY.items():
        package = Path(test).parts[1]
        if package.startswith("groundup_") and trouble(package):
            continue  # it was removed from this checkout
        assert name.removesuffix(".md") in (ROOT / test).read_text(encoding="utf-8")
