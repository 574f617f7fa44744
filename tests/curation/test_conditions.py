"""Expressions of workflows, as far as they can be known."""

import pytest

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
        ("contains(", None),
        ("secrets.TOKEN != ''", None),
    ],
)
def test_what_can_be_known_decides(condition: str, holds: bool | None) -> None:
    """A condition holds, does not, or is unknown; unknown parts spread only where they matter."""
    assert CONTEXTS.holds(condition) is holds


def test_text_with_an_unknown_part_is_unknown_and_shown_as_far_as_known() -> None:
    """A script keeps the expressions that only a running workflow could replace."""
    text = "tox -e ${{ matrix.python }} ${{ secrets.TOKEN }}"

    assert CONTEXTS.text(text) is None
    assert CONTEXTS.shown(text) == "tox -e 3.12 ${{ secrets.TOKEN }}"


def test_alternatives_and_functions_have_their_values() -> None:
    """`||` gives the first value that is not empty; format and fromJSON work."""
    assert CONTEXTS.value("matrix.empty || 'else'") == "else"
    assert CONTEXTS.value("format('py{0}', matrix.python)") == "py3.12"
    assert CONTEXTS.value("fromJSON('[1, 2]')[1]") == 2
    assert CONTEXTS.value("hashFiles('x')") is UNKNOWN
