"""Recipes as files."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.domain.errors import TaskError
from groundup.environments.requests import EditedSource
from groundup.grading.library.hidden import NumberedTest
from groundup.suites.nl2repobench.listing import summarized
from groundup.suites.nl2repobench.recipe import Excluded, Why, parse_recipe, shipped_recipes
from groundup.trees.edits import FileEdit
from groundup_factory.recipes.files import fingerprint_of, recipe_text
from tests.suites.nl2repobench.test_timed import RECIPE_WITH_TIMED, TIMED
from tests.suites.nl2repobench.trials import RECIPE

_TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
_TESTS = st.builds(
    lambda file, name, ordinal: NumberedTest(f"{file}::{name}" if name else file, ordinal),
    _TEXT,
    _TEXT | st.just("") | st.just("test_x #2"),
    st.integers(min_value=1, max_value=3),
)


@given(
    st.frozensets(_TESTS, min_size=1, max_size=10),
    st.lists(st.builds(Excluded, id=_TEXT, why=st.sampled_from(Why), note=_TEXT), max_size=3),
    _TEXT,
    st.lists(_TEXT, max_size=4),
)
def test_a_written_recipe_reads_back(
    expected: frozenset[NumberedTest], excluded: list[Excluded], notes: str, ini: list[str]
) -> None:
    """Whatever test ids, notes and configuration lines hold, the file says the same as the record."""
    recipe = RECIPE.but(
        expected=expected,
        floor=frozenset(sorted(expected)[1:]),
        excluded=tuple(excluded),
        notes=notes,
        tests=RECIPE.tests.but(ini=tuple(ini)),
        reasons={notes: Why.NETWORK},
    )

    assert parse_recipe(recipe_text(recipe), "x.toml") == recipe


def test_keys_of_removed_rules_are_passed_over() -> None:
    """Recipes that were made before a score was a count can still be read; elsewhere such a key is a mistake."""
    text = recipe_text(RECIPE)
    before = text.replace("[twin]\n", "[twin]\nmixed = true\n")
    before = before.replace("[tests]\n", '[tests]\ncanary_name = "test_x"\ncopied_canaries = false\n')

    assert before.count("\n") == text.count("\n") + 3
    assert parse_recipe(before, "x.toml") == RECIPE
    with pytest.raises(TaskError, match=r"tests\.mixed"):
        parse_recipe(text.replace("[tests]\n", "[tests]\nmixed = true\n"), "x.toml")


def test_tests_run_without_what_cannot_be_fetched() -> None:
    """A recipe's edits are graded beside the published form's, and the file keeps them."""
    edit = FileEdit(sha256="0" * 64, steps=(("replace", "pretrained=True", "pretrained=False"),))
    recipe = RECIPE.but(edits={"tests/test_models.py": edit})
    graded = recipe.graded_request()
    assert isinstance(graded, EditedSource)
    assert graded.edits["tests/test_models.py"] == edit
    assert graded.of == recipe.source_request()
    assert parse_recipe(recipe_text(recipe), "x.toml") == recipe


def test_a_written_recipe_shows_one_test_per_line() -> None:
    """A diff of two recipes shows which tests came and went."""
    lines = recipe_text(RECIPE).splitlines()

    assert '"tests/test_calc.py::" = [' in lines
    assert '    "test_add",' in lines


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("format = ", "not valid TOML"),
        ("format = 2\n", "format"),
        ("format = 1\n", "it is missing"),
        ("[expected]\na = 1\n", "expected"),
        ("expected = 1\n", "expected"),
        ("[expected]\na = [1]\n", "expected"),
        (recipe_text(RECIPE).replace('python = "3.11"', 'python = "2.7"'), "environment.python"),
        (recipe_text(RECIPE).replace("[source]", "[source]\ncolour = 1"), "source.colour"),
        (recipe_text(RECIPE).replace("0" * 64, "0" * 63), "sha256"),
        (recipe_text(RECIPE).partition("[expected]")[0], "frozen recipe has expected ids"),
    ],
)
def test_a_wrong_recipe_is_named_with_its_place(text: str, message: str) -> None:
    """An error names the file, the key and what to read; it is never a submission's fault."""
    with pytest.raises(TaskError, match=message) as caught:
        parse_recipe(text, "calc.toml")
    assert str(caught.value).startswith("calc.toml: ")


def test_another_interpreter_stands_in_for_the_recipe_s_own() -> None:
    """It is known as a stand-in, for its verdicts are not those of the published environment."""
    recipe = shipped_recipes("3.13")["sqlparse"]
    assert (recipe.environment.python, recipe.environment.has_stand_in) == ("3.13", True)
    assert not shipped_recipes()["sqlparse"].environment.has_stand_in
    assert not shipped_recipes("3.10")["sqlparse"].environment.has_stand_in


def test_a_recipe_names_its_timed_tests() -> None:
    """They are written and read, and a name that is no expected test is refused."""
    text = recipe_text(RECIPE_WITH_TIMED)

    assert parse_recipe(text, "calc.toml").tests.timed == (TIMED,)
    with pytest.raises(TaskError, match="test_divide"):
        parse_recipe(text.replace(f'timed = ["{TIMED}', 'timed = ["tests/test_calc.py::test_divide'), "calc.toml")


def test_recipes_keep_what_they_know() -> None:
    """The account is written and read again as it was, quotes and line ends of its rules with it."""
    for task in ("justext", "records", "pyperclip", "jsonlines"):
        recipe = shipped_recipes()[task]
        assert parse_recipe(recipe_text(recipe), task) == recipe


@pytest.mark.parametrize("task", shipped_recipes())
def test_the_head_of_a_draft_says_what_the_whole_draft_does(task: str) -> None:
    """It has neither a lock nor expected tests."""
    recipe = shipped_recipes()[task]
    draft = recipe.but(environment=recipe.environment.but(lock={}), frozen=None, expected=frozenset())
    assert summarized(recipe_text(draft)) == draft.summary()


def test_what_an_original_vendors_and_tests_is_not_its_own(tmp_path: Path) -> None:
    """Libraries that it brings along may be had under their own names."""
    recipe = shipped_recipes()["bleach"]
    for name in ("bleach/one.py", "bleach/_vendor/html5lib/two.py", "tests/test_three.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(Path(__file__).read_bytes())
    assert list(fingerprint_of(recipe, tmp_path).files) == ["bleach/one.py"]
