"""Making a recipe of the tiny library in real sandboxes: repairs, freezing, controls, answers at hand."""

from pathlib import Path
from typing import Any

import pytest

from groundup.domain.errors import TaskError
from groundup.environments.requests import ENVIRONMENT_TARGET, Layer, PythonEnvironment
from groundup.grading.context import GradingContext
from groundup.grading.library.hidden import FalseRecord, HiddenTests, NumberedTest
from groundup.sandbox.protocol import Mount
from groundup.suites.nl2repobench.recipe import Difference, Recipe, Why
from groundup_factory.recipes.build import UnfinishedError, finish
from groundup_factory.recipes.controls import changes, renewed, with_controls
from groundup_factory.recipes.repairs import environment_plugins
from groundup_factory.recipes.stubs import Stub, stubbed
from groundup_factory.recipes.within_reach import find_answers
from tests.grading.library.laboratory import LIBRARY, ORIGINAL, HostBuilder, write_tree
from tests.suites.nl2repobench.trials import EXPECTED, RECIPE, Trial

DRAFT = RECIPE.but(frozen=None, expected=frozenset(), declared={"781a1da": 8})


async def made(trial: Trial, files: dict[str, str], draft: Recipe = DRAFT) -> tuple[Recipe, list[str]]:
    """Return the recipe that comes of a draft and an original of *files*, and what was said."""
    write_tree(trial.folder / "original", files)
    scratch = trial.folder / "scratch"
    scratch.mkdir()
    context = GradingContext(provider=trial.provider, builder=HostBuilder(trial.folder), scratch=scratch)
    said: list[str] = []
    return await finish(draft, context, said.append, may_repair=True), said


@pytest.mark.needs("groundup_integrity")
@pytest.mark.end_to_end
async def test_a_draft_becomes_a_recipe_with_its_controls(trial: Trial) -> None:
    """The expected ids are found, and nothing worthless passes what no stub passes."""
    recipe, said = await made(trial, ORIGINAL)

    assert recipe.expected == EXPECTED
    assert recipe.frozen is not None
    assert recipe.frozen.collected == len(EXPECTED)
    assert recipe.frozen.controls.keys() == {"nop", "stub", "raises", "echoes", "files", "leaves", "patches"}
    assert recipe.frozen.controls["nop"] == 0
    assert {str(test) for test in recipe.floor} == {"tests/test_calc.py::test_data"}
    assert max(recipe.frozen.controls.values()) == len(recipe.floor)
    assert any("control stub" in line for line in said)


@pytest.mark.needs("groundup_integrity")
@pytest.mark.end_to_end
async def test_what_an_original_lacks_is_repaired_and_noted(trial: Trial) -> None:
    """A module of the root, a file that a test reads, one that it writes, a network test: each is dealt with."""
    files = {
        **ORIGINAL,
        "src/calc/__init__.py": LIBRARY,
        "helping.py": "three = 3\n",
        "tests/test_root.py": "import calc, helping\ndef test_root(): assert calc.add(1, 2) == helping.three\n",
        "README.rst": "calculates\n",
        "tests/test_readme.py": (
            "from pathlib import Path\nimport calc\n"
            "def test_readme(): assert 'calc' in Path(__file__).parents[1].joinpath('README.rst').read_text()\n"
        ),
        "tests/test_notes.py": (
            "from pathlib import Path\nimport calc\n"
            "def test_notes(): assert Path('tests/notes.txt').write_text('calc') == calc.add(2, 2)\n"
        ),
        "tests/test_online.py": "def test_online(): raise OSError('Temporary failure in name resolution')\n",
        "tests/test_sites.py": "def test_site(): raise OSError('Temporary failure in name resolution')\n",
    }
    del files["calc/__init__.py"], files["calc/__main__.py"]
    protected = (*DRAFT.tests.protected, "helping.py")
    tests = DRAFT.tests.but(import_roots=("src",), protected=protected)
    recipe, said = await made(
        trial,
        files,
        DRAFT.but(
            tests=tests, declared={"781a1da": len(EXPECTED) + 5}, reasons={"tests/test_sites.py::*": Why.NETWORK}
        ),
    )

    assert recipe.tests.writable == ("tests",)
    assert recipe.tests.import_roots == ("src", ".")
    assert "README.rst" in recipe.tests.protected
    assert [excluded.why for excluded in recipe.excluded] == [Why.NETWORK, Why.NETWORK]
    assert [(one.why, one.tests) for one in recipe.differences] == [(Why.NETWORK, 2)]
    assert list(recipe.reasons) == ["tests/test_sites.py::*", "tests/test_online.py::test_online"]
    assert "import root ." in recipe.notes
    assert any("name resolution" in line for line in said)


@pytest.mark.needs("groundup_integrity")
@pytest.mark.end_to_end
async def test_what_needs_a_person_leaves_a_draft(trial: Trial) -> None:
    """A failure without a reason ends with a sentence and the draft so far, never with a guess."""
    files = {**ORIGINAL, "tests/test_odd.py": "def test_odd(): assert 1 == 2\n"}
    with pytest.raises(UnfinishedError, match=r"test_odd does not pass.*\[reasons\]") as raised:
        await made(trial, files)

    assert raised.value.draft.frozen is None
    assert raised.value.draft.task == "calc"


@pytest.mark.needs("groundup_integrity")
@pytest.mark.end_to_end
async def test_tests_that_measure_nothing_are_refused(trial: Trial) -> None:
    """When a stub passes most tests, the recipe would reward a skeleton."""
    files = {**ORIGINAL, "tests/test_calc.py": "import calc\ndef test_there(): assert calc.add\n"}
    del files["tests/test_more.py"]
    with pytest.raises(UnfinishedError, match="measure next to nothing"):
        await made(trial, files)


def test_a_stub_has_names_and_no_behaviour() -> None:
    """Imports stay, functions and methods return nothing, values are None, exceptions can be raised."""
    space: dict[str, object] = {}
    code = (
        "import os\nX: int = 3\na, b = 1, 2\ndef f(x): return x\nclass E(ValueError):\n    def m(self): return 1\n"
    )
    exec(stubbed(code), space)

    assert (space["X"], space["a"], space["b"]) == (None, None, None)
    assert callable(space["f"])
    assert space["f"](1) is None
    assert isinstance(space["E"], type)
    assert space["os"] is not None
    assert stubbed("def (") == ""


@pytest.mark.parametrize("kind", Stub)
def test_the_functions_of_each_stub_do_one_thing(kind: Stub) -> None:
    """They return None, raise, or return their first argument; instances can be made where nothing raises."""
    space: dict[str, Any] = {}
    exec(
        stubbed("def f(x): return x\nclass C:\n    def __init__(self, x): pass\n    def m(self, x): pass\n", kind),
        space,
    )

    if kind is Stub.RAISE:
        with pytest.raises(NotImplementedError):
            space["f"](1)
        with pytest.raises(NotImplementedError):
            space["C"](1)
    else:
        expected = 1 if kind is Stub.ECHO else None
        assert (space["f"](1), space["C"](2).m(1)) == (expected, expected)


def test_controls_must_be_worthless() -> None:
    """Empty work gets nothing at all, and a cheat no test that no stub passes; stubs together are the floor."""
    first, second, third, *_ = sorted(EXPECTED)
    stubs = {"stub": frozenset({first}), "raises": frozenset({second}), "echoes": frozenset[NumberedTest]()}
    recipe = with_controls(RECIPE, {"nop": frozenset(), **stubs, "files": frozenset({first, second})})

    assert recipe.floor == {first, second}
    assert recipe.frozen is not None
    assert recipe.frozen.controls == {"nop": 0, "stub": 1, "raises": 1, "echoes": 0, "files": 2}
    with pytest.raises(TaskError, match="'files' passes 1 tests of calc that no stub passes"):
        with_controls(RECIPE, {**stubs, "files": frozenset({third})})
    with pytest.raises(TaskError, match="measure next to nothing"):
        with_controls(RECIPE, {**stubs, "stub": EXPECTED})


def _environment(tree: Path) -> PythonEnvironment:
    return PythonEnvironment(
        layer=Layer(digest="sha256:0", kind="python", path=tree),
        mounts=(Mount(source=tree, target=ENVIRONMENT_TARGET),),
        path=(),
        python_version="3.11.0",
    )


def test_an_environment_that_holds_the_answer_is_found_out(tmp_path: Path) -> None:
    """Equal and nearly equal files are reported, whatever their place and name; others are not."""
    code = "\n".join(f"def function_{number}(): return {number}" for number in range(40))
    site = "lib/python3.11/site-packages"
    original = write_tree(tmp_path / "original", {"calc/core.py": code, "calc/small.py": "x = 1\n"})
    tree = write_tree(
        tmp_path / "environment",
        {
            f"{site}/vendored/_core.py": f"# vendored\n\n{code}\n",
            f"{site}/like.py": code.replace("return 3\n", "return 4\n"),
            f"{site}/other.py": code.replace("function", "other"),
            f"{site}/small.py": "x = 1\n",
        },
    )
    tests = HiddenTests(packages=("calc",), arguments=("tests",), protected=("tests",))
    found = {
        answer.place.rpartition("/")[2]: answer for answer in find_answers(original, tests, _environment(tree))
    }

    assert found.keys() == {"_core.py", "like.py"}
    assert found["_core.py"].likeness == 1.0
    assert found["like.py"].source == "calc/core.py"


def test_plugins_of_an_environment_are_found(tmp_path: Path) -> None:
    """What pytest would load by itself is listed for the runner, but for plugins that only report."""
    site = "lib/python3.11/site-packages"
    tree = write_tree(
        tmp_path,
        {
            f"{site}/mock-1.dist-info/entry_points.txt": "[pytest11]\npytest_mock = pytest_mock\n",
            f"{site}/cov-1.dist-info/entry_points.txt": "[pytest11]\npytest_cov = pytest_cov.plugin\n",
            f"{site}/odd-1.dist-info/entry_points.txt": "not an ini file",
        },
    )

    assert environment_plugins(_environment(tree)) == ("pytest_mock",)


def test_a_check_tells_what_changed() -> None:
    """Ids, pins, controls and open questions are reported one by one; a recipe that is as it was tells nothing."""
    assert RECIPE.frozen is not None
    explained = RECIPE.but(
        differences=(Difference(data_version="781a1da", why=Why.COUNT_WRONG, tests=1, note="x"),)
    )
    fewer = explained.but(expected=frozenset(sorted(EXPECTED)[1:]), frozen=RECIPE.frozen.but(original_lines=13))

    assert list(changes(explained, explained)) == []
    ended = "\n".join(changes(explained, fewer))
    assert f"gone expected test: {min(EXPECTED)}" in ended
    assert "had 12 lines and has 13" in ended
    assert "no reason is known for +1 tests" in ended


def test_a_recipe_made_again_keeps_its_times_and_gains_its_twin() -> None:
    """Another machine's times are no change; where other tests pass, everything is as it was measured now."""
    assert RECIPE.frozen is not None
    slower = RECIPE.frozen.but(duration_s=99.0, controls={"stub": 1})
    hidden = RECIPE.tests.but(timeout_s=1200.0)
    before = RECIPE.but(twin=None)
    after = before.but(frozen=slower, tests=hidden, twin=FalseRecord(runs=3))

    again = renewed(before, after)
    assert next(changes(before, after)) == "its false forms were not tried; 0 tests pass in them"
    assert (again.twin, again.tests) == (after.twin, before.tests)
    assert again.frozen == RECIPE.frozen.but(controls={"stub": 1})
    fewer = after.but(expected=frozenset(sorted(EXPECTED)[1:]))
    assert renewed(before, fewer) == fewer
