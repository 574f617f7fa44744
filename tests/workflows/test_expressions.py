"""Expressions that can be known before a workflow runs."""

import pytest
from pydantic import JsonValue

from groundup.workflows.expressions import UNKNOWN, Contexts

CONTEXTS = Contexts(
    {"os": "ubuntu-latest", "python": 3.12, "target": {"steps": ["fmt", "test"]}, "empty": ""},
    {"MODE": "full", "FROM": "${{ matrix.os }}"},
)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("matrix.os == 'ubuntu-latest'", True),
        ("${{ matrix.os != 'Ubuntu-Latest' }}", False),
        ("contains(matrix.target.steps, 'test') && !contains(matrix.target.steps, 'doctest')", True),
        ("startsWith(matrix.os, 'windows') || runner.os == 'Linux'", True),
        ("matrix.absent == ''", True),
        ("matrix['python'] == '3.12'", True),
        ("github.event_name == 'push'", True),
        ("github.repository == 'somebody/something'", None),
        ("github.repository == 'a/b' && failure()", False),
        ("always() || needs.build.result == 'success'", True),
        ("needs.build.outputs.go", None),
        ("env.FROM == 'ubuntu-latest'", True),
        ("matrix.python == 3.12", True),
        ("matrix.python == 3.1", False),
        ("true == true", True),
        ("null != null", False),
        ("contains(", None),
        ("secrets.TOKEN != ''", False),
        ("vars.RUNNER != ''", False),
        ("vars['A_B'] == 'x' || failure()", False),
    ],
)
def test_what_can_be_known_decides(condition: str, holds: bool | None) -> None:
    """A condition holds, does not, or is unknown; unknown parts spread only where they matter."""
    assert CONTEXTS.holds(condition) is holds


def test_text_with_an_unknown_part_is_unknown_and_shown_as_far_as_known() -> None:
    """A script keeps the expressions that only a running workflow could replace."""
    text = "tox -e ${{ matrix.python }} ${{ needs.plan.outputs.x }}"

    assert CONTEXTS.text(text) is None
    assert CONTEXTS.shown(text) == "tox -e 3.12 ${{ needs.plan.outputs.x }}"


def test_alternatives_and_functions_have_their_values() -> None:
    """`||` gives the first value that is not empty; format and fromJSON work."""
    assert CONTEXTS.value("matrix.empty || 'else'") == "else"
    assert CONTEXTS.value("format('py{0}', matrix.python)") == "py3.12"
    assert CONTEXTS.value("format('{1}{0}{{0}} {2}', '{1}', 'a')") == "a{1}{0} {2}"
    assert CONTEXTS.value("fromJSON('[1, 2]')[1]") == 2
    assert CONTEXTS.value("hashFiles('x')") is UNKNOWN
    assert CONTEXTS.value("startsWith('too few')") is UNKNOWN


LEG: dict[str, JsonValue] = {"python": "3.12", "n": 2, "on": True, "deep": {"a": {"b": "c"}}, "empty": ""}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("py${{ matrix.python }}-${{ matrix.n }}", "py3.12-2"),
        ("${{matrix.deep.a['b']}}", "c"),
        ("${{ matrix.absent }}", ""),
        ("${{ matrix.absent || 'ubuntu' }}", "ubuntu"),
        ("${{ matrix.on }}", "true"),
        ("${{ env.V }}", "7"),
        ("${{ 'it''s' }}", "it's"),
        ("${{ runner.os }}", "Linux"),
        ("${{ github.sha }}", None),
        ("a ${{ needs.x.outputs.y }}", None),
        ("${{ matrix.python == '3.12' }}", "true"),
    ],
)
def test_values_are_known_or_not(text: str, value: str | None) -> None:
    """Matrix, variables, literals and comparisons are replaced; anything else makes the whole text unknown."""
    assert Contexts(LEG, {"V": "7"}).text(text) == value


def test_variables_may_refer_to_the_matrix() -> None:
    """A variable whose value is an expression is followed once, and not in circles."""
    assert Contexts(LEG, {"V": "${{ matrix.python }}"}).text("${{ env.V }}") == "3.12"
    assert Contexts(LEG, {"V": "${{ env.V }}", "W": "${{ env.V }}"}).text("${{ env.V }}${{ env.W }}") is None


def test_variables_of_a_step_may_refer_to_those_of_its_job() -> None:
    """A step's variable is made of the job's; a part that is unknown makes it unknown, not empty."""
    inner = Contexts(LEG, {"V": "7", "SHA": "${{ github.sha }}"}).within({"W": "v${{ env.V }}", "V": "8"})
    assert inner.text("${{ env.W }} ${{ env.V }}") == "v7 8"
    assert inner.text("${{ env.SHA }}") is None
    assert inner.holds("env.SHA == ''") is None


def test_a_variable_that_no_file_sets_is_unknown() -> None:
    """Any earlier step may have set it, so a condition on it skips nothing."""
    assert Contexts(LEG, {}).holds("env.LATER == '1'") is None


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("matrix.flag", True),  # the text 'false' is a text, and not an empty one
        ("matrix.off", False),
        ("matrix.none", False),
        ("matrix.zero", False),
        ("matrix.version == '3.10'", True),  # a number and a text are compared as numbers
        ("matrix.name == 'RELEASE'", True),
        ("matrix.name == 1", False),  # a text that is no number is none
        ("matrix.many == 1", False),
        ("'' == 0", True),
        ("success() && !cancelled()", True),
        ("failure()", False),
    ],
)
def test_values_are_true_and_equal_as_on_github(condition: str, holds: bool) -> None:
    """Texts are true unless empty, comparisons ignore case and convert numbers; the job is taken to go well."""
    leg: dict[str, JsonValue] = {"flag": "false", "off": False, "zero": 0, "version": 3.1, "name": "release"}
    assert Contexts({**leg, "many": [1]}).holds(condition) is holds


def test_the_event_is_the_one_that_starts_the_workflow() -> None:
    """Where a pull request starts it, it comes from a fork; what a release has is unknown."""
    started = Contexts({}, event="pull_request")
    assert started.holds("github.event_name == 'push'") is False
    assert started.holds("github.ref == 'refs/heads/main'") is False
    assert started.holds("github.event.pull_request.head.repo.fork") is True
    assert started.holds("github.event.pull_request.head.repo.full_name != github.repository") is None
    assert Contexts({}, event="release").holds("github.ref == 'refs/heads/main'") is None


def test_of_several_legs_nothing_is_known() -> None:
    """Without a leg, a condition on the matrix is unknown: one of the legs may fulfil it."""
    assert Contexts(None).holds("matrix.os == 'x'") is None
    assert Contexts({}).holds("matrix.os == 'x'") is False


TRUTH: dict[str, bool | None] = {
    "{0} && {0}": None,
    "{0} && false": False,
    "{0} && true": None,
    "false && {0}": False,
    "true && {0}": None,
    "{0} || true": True,
    "{0} || false": None,
    "{0} || {0}": None,
    "false || {0}": None,
    "true || {0}": True,
    "!{0}": None,
    "!({0} && false)": True,
    "{0} == {0}": None,
    "'a' != {0}": None,
    "1 < 2": None,
    "2 >= 1": None,
    "false || false && true": False,
    "true || false && false": True,
    "(true || false) && false": False,
    "'' || 'a'": True,
    "0 || null": False,
}


@pytest.mark.parametrize("condition", TRUTH)
def test_what_is_unknown_decides_where_nothing_else_does(condition: str) -> None:
    """`&&` binds before `||`; only equality is known of two values."""
    assert Contexts({}).holds(condition.format("needs.a.outputs.b")) is TRUTH[condition]
