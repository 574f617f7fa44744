"""A published image is compared with its recipe: how it is configured, and what it holds."""

from pathlib import Path

from groundup.suites.nl2repobench.recipe import shipped_recipes
from groundup_factory.recipes import differences


def test_what_differs_is_named(tmp_path: Path) -> None:
    """Absent, changed and further files of tests; other versions; a folder or an entry point of its own."""
    recipe = shipped_recipes()["tenacity"]
    for place, files in {
        "expected": {"tests/test_a.py": "1", "tests/test_b.py": "1", "setup.py": ""},
        "there": {"tests/test_a.py": "2", "tests/test_c.py": "", "setup.py": "", "other/file": ""},
    }.items():
        for name, text in files.items():
            (tmp_path / place / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / place / name).write_text(text)
    assert recipe.published is not None
    recipe = recipe.but(published=recipe.published.but(test_files=("tests/",)))
    assert list(differences._tests(recipe, tmp_path / "expected", tmp_path / "there")) == [
        "tests: tests/test_b.py is absent",
        "tests: tests/test_a.py is another",
        "tests: tests/test_c.py is not the original's",
    ]
    installed = {pin.partition("==")[0]: pin.partition("==")[2] for pin in recipe.environment.lock}
    assert list(differences._versions(recipe, "3.10", installed)) == []
    assert list(differences._versions(recipe, "3.9", {**installed, "idna": "2.0"})) == [
        "versions: Python 3.9, the recipe has 3.10",
        "versions: idna 2.0, the recipe has 3.10",
    ]
    assert list(differences._configured({"WorkingDir": "/workspace", "Entrypoint": None})) == []
    assert list(differences._configured({"WorkingDir": "/app", "User": "me"})) == [
        "configuration: it works in /app, not in /workspace",
        'configuration: User is "me"',
    ]
