"""Submissions that keep the package elsewhere than the original, or lean on files that no test sees."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from groundup.grading.library.hidden import NumberedTest
from tests.grading.library.laboratory import LIBRARY
from tests.suites.nl2repobench.trials import EXPECTED, RECIPE, Trial, passed

pytestmark = pytest.mark.end_to_end

RENAMED: dict[str, Mapping[str, str]] = {
    "pyproject": {"pyproject.toml": "[tool.setuptools.package-dir]\ncalc = 'code/impl'\n"},
    "setup.cfg": {"setup.cfg": "[options]\npackages = calc\npackage_dir =\n    calc = ./code/impl\n"},
    "setup.py": {
        "setup.py": "from setuptools import setup\nsetup(packages=['calc'], package_dir={'calc': 'code/impl'})\n"
    },
    "hatch": {"pyproject.toml": "[tool.hatch.build.targets.wheel.sources]\n'code/impl' = 'calc'\n"},
}


@pytest.mark.parametrize("name", RENAMED)
async def test_a_package_in_a_folder_of_another_name(trial: Trial, name: str) -> None:
    """What project files install under the package's name is tested under it."""
    graded = await trial.grade({"code/impl/__init__.py": LIBRARY, **RENAMED[name]})
    assert passed(graded) == len(EXPECTED), graded.verdict.reasons


@pytest.mark.parametrize(("original", "own"), [("src", "."), ("src", "lib"), (".", "src"), (".", "code/py")])
async def test_tests_inside_the_package_follow_it(trial: Trial, original: str, own: str) -> None:
    """Hidden tests that lie in the package import it relatively, wherever a submission has it."""

    def placed(root: str, files: Mapping[str, str]) -> dict[str, str]:
        return {f"{root}/{path}".removeprefix("./"): text for path, text in files.items()}

    tests = {
        "calc/tests/__init__.py": "",
        "calc/tests/test_calc.py": "from .. import add, subtract\n"
        "def test_add(): assert add(1, 2) == 3\ndef test_subtract(): assert subtract(1, 2) == -1\n",
    }
    package = {"calc/__init__.py": LIBRARY}
    folder = f"{original}/calc/tests".removeprefix("./")
    names = {NumberedTest(f"{folder}/test_calc.py::test_{name}") for name in ("add", "subtract")}
    layout = RECIPE.tests.but(import_roots=(original,), arguments=(folder,), protected=(folder,))
    recipe = RECIPE.but(tests=layout, expected=frozenset(names))
    there = replace(trial, recipe=recipe, original=placed(original, {**package, **tests}))
    declared = {"setup.py": f"setup(package_dir={{'': '{own}'}})"}

    graded = await there.grade({**placed(own, package), **declared})
    assert passed(graded) == 2, graded.verdict.reasons
    assert passed(await there.grade({})) == 0


async def test_a_folder_deeper_is_named(trial: Trial) -> None:
    """A project in a folder of its own gets nothing, and is told where its package lies."""
    graded = await trial.grade({"nested/calc/__init__.py": LIBRARY, "nested/pyproject.toml": ""})
    assert passed(graded) == 0
    assert "nested/calc/__init__.py" in graded.verdict.reasons[0].message


async def test_a_requirement_that_nobody_installs_is_explained(trial: Trial) -> None:
    """What project files require is not installed for hidden tests, and the reason says so."""
    project = {"pyproject.toml": "[project]\nname = 'calc-lab'\ndependencies = ['cowsay']\n"}
    for place in ("calc/__init__.py", "calc/late.py"):
        files = {"calc/__init__.py": LIBRARY, **project}
        files[place] = "import cowsay\n" + files.get(place, "")
        if place != "calc/__init__.py":
            files["calc/__init__.py"] += "\ndef multiply(a, b):\n    from calc import late\n"
        graded = await trial.grade(files)
        said = " ".join(one.message for one in graded.verdict.reasons)
        assert "No module named 'cowsay'" in said
        assert "nothing that a submission requires is installed for the tests" in said


async def test_a_project_file_that_is_read_at_import_is_explained(trial: Trial) -> None:
    """Project files do not lie beside the package when tested: the reason names the one looked for."""
    reading = "from pathlib import Path\nPath(__file__).parents[1].joinpath('pyproject.toml').read_text()\n"
    graded = await trial.grade({"calc/__init__.py": reading + LIBRARY, "pyproject.toml": "[project]\n"})
    assert passed(graded) == 0
    assert "pyproject.toml was left out" in graded.verdict.reasons[0].message
    own = reading.replace("pyproject.toml", "README.md")
    assert passed(await trial.grade({"calc/__init__.py": own + LIBRARY, "README.md": "x"})) == len(EXPECTED)
