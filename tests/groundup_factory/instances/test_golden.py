"""Which job is taken, with every point and reason, in repositories of each kind; and how their tests are run.

`python -m tests.groundup_factory.instances.test_golden` writes golden.json anew: read what changed.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from groundup.domain.errors import TaskError
from groundup_factory.instances.locating import locate
from groundup_factory.instances.ratings import plainness, system_rating, version_rating, versions_in
from groundup_factory.recipes.layout import read_layout
from groundup_factory.recipes.project import OriginalProject
from tests.workflows.made import MadeTree

HERE = Path(__file__).parent
GOLDEN = HERE / "golden.json"
GIVEN: dict[str, dict[str, dict[str, str]]] = json.loads((HERE / "repositories.json").read_text(encoding="utf-8"))
PROJECT = OriginalProject(
    name="demo", version="1.0", entry_points={"pytest11": {"demo": "demo.plugin : load"}, "x": {"a": "b"}}
)
COMMANDS = ("pip install .", "python -m pytest -q tests/test_a.py::test_x tests", "pytest 'open")


def found(name: str) -> Any:
    """Return the jobs of a repository that may be the one."""
    located = locate(MadeTree(GIVEN["workflows"][name]))
    document = located.model_dump(mode="json", exclude_defaults=True)
    return document if located.best else document | {"nothing": located.nothing}


def laid_out(name: str, root: Path) -> Any:
    """Return how the tests of an original, written to *root*, are run."""
    for path, text in GIVEN["originals"][name].items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    try:
        tests, notes = read_layout(root, PROJECT, COMMANDS, ("tests/", "tests/data", "absent", ".", "src"))
    except TaskError as error:
        return str(error)
    return tests.model_dump(mode="json", exclude_defaults=True) | {"notes": notes}


@pytest.mark.parametrize("name", GIVEN["workflows"])
def test_the_job_to_take(name: str) -> None:
    """The best leg and others that would do, what hinders, each point with its reason; or why there is none."""
    assert found(name) == json.loads(GOLDEN.read_text(encoding="utf-8"))[f"job of {name}"]


@pytest.mark.parametrize("name", GIVEN["originals"])
def test_how_the_tests_of_an_original_are_run(name: str, tmp_path: Path) -> None:
    """Packages, arguments, what is protected, the configuration that matters, and notes; or why they cannot be."""
    assert laid_out(name, tmp_path) == json.loads(GOLDEN.read_text(encoding="utf-8"))[f"tests of {name}"]


RATINGS: list[tuple[str, str, float]] = [
    *(("python", version, rating) for version, rating in {
        "3.12": 1.0, "3.13": 0.88, "3.14": 0.78, "3.11": 0.91, "3.8": 0.64, "3.2": 0.2, "3.12.4": 1.0, "312": 1.0,
        "cpython-3.12": 1.0, "3.x": 0.6, "3": 0.6, "": 0.6, "2.7": 0.1, "pypy3.10": 0.1, "3.13t": 0.15,
        "3.14-dev": 0.15,
    }.items()),
    *(("node", version, rating) for version, rating in {
        "20": 1.0, "22.x": 0.9, "18": 0.8, "24": 0.7, "12": 0.3, "21": 0.15, "lts/*": 0.9, "lts/iron": 1.0,
        "current": 0.3,
    }.items()),
    *(("rust", version, rating) for version, rating in {
        "stable": 1.0, "": 1.0, "beta": 0.3, "nightly": 0.2, "1.70": 0.5, "${{ x }}": 0.4,
    }.items()),
    *(("dotnet", version, rating) for version, rating in {
        "8.0.x": 1.0, "net9.0": 0.95, "10": 0.9, "6.0": 0.8, "net7.0": 0.7, "5": 0.4, "netcoreapp3.1": 0.4,
        "net48": 0.2, "odd": 0.2,
    }.items()),
    ("go", "1.22", 0.5),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "version", "rating"), RATINGS)
def test_versions_are_rated_by_how_common_they_are(kind: str, version: str, rating: float) -> None:
    """Released ones that most people have come first."""
    assert version_rating(kind, version) == pytest.approx(rating)


SYSTEMS = {
    "ubuntu-latest": 1.0, "Ubuntu": 1.0, "ubuntu-22.04": 0.97, "ubuntu-24.04-arm": 0.7, "linux-aarch64": 0.7,
    "debian": 0.97, "macos-14": 0.2, "darwin": 0.2, "windows-latest": 0.0, "win-arm": 0.0, "self-hosted": 0.5,
    "": 0.5,
}  # fmt: skip


@pytest.mark.parametrize("runner", SYSTEMS)
def test_systems_are_rated_by_how_near_they_are(runner: str) -> None:
    """Linux on the usual processor is what sandboxes have."""
    assert system_rating(runner) == SYSTEMS[runner]


LEGS: list[tuple[dict[str, Any], list[tuple[str, str]], float]] = [
    ({"os": "windows", "python": "3.12"}, [("python", "3.12")], 0),
    ({"toxenv": "py311"}, [("python", "311")], 0.1),
    ({"tox": {"env": "3.10"}}, [("python", "3.10")], 0),
    ({"node-version": "20", "x": "node.js 18"}, [("node", "20"), ("node", "node.js 18")], 0),
    ({"rust": "nightly", "toolchain": "stable"}, [("rust", "nightly"), ("rust", "stable")], -0.15),
    ({"dotnet": "8", "tfm": "net8.0"}, [("dotnet", "8"), ("dotnet", "net8.0")], 0),
    ({"deps": "minimal", "mode": "default"}, [], -0.15),
    ({"features": "--all-features"}, [], 0.3),
    ({"features": ""}, [], -0.3),
    ({"features": "--no-default-features"}, [], -0.45),
    ({"target": "x86_64-unknown-linux-gnu"}, [], 0.2),
    ({"coverage": "true"}, [], -0.25),
    ({"cross": "true"}, [], -0.2),
    ({"runner": "windows"}, [], 0),
]


@pytest.mark.parametrize(("leg", "versions", "rating"), LEGS)
def test_a_leg_is_rated_by_its_values(leg: dict[str, Any], versions: list[tuple[str, str]], rating: float) -> None:
    """Which versions it names, and how ordinary its words are."""
    assert list(versions_in(leg)) == versions
    assert plainness(leg) == pytest.approx(rating)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        made = {f"job of {name}": found(name) for name in GIVEN["workflows"]}
        made |= {f"tests of {name}": laid_out(name, Path(folder, name)) for name in GIVEN["originals"]}
    GOLDEN.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
