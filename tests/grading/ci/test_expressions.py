"""Expressions that can be known before a workflow runs."""

import pytest
from pydantic import JsonValue

from groundup.workflows.expressions import resolved

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
        ("${{ matrix.python == '3.12' }}", None),
    ],
)
def test_values_are_known_or_not(text: str, value: str | None) -> None:
    """Matrix, variables and literals are replaced; anything else makes the whole text unknown."""
    assert resolved(text, LEG, {"V": "7"}) == value


def test_variables_may_refer_to_the_matrix() -> None:
    """A variable whose value is an expression is followed once, and not in circles."""
    assert resolved("${{ env.V }}", LEG, {"V": "${{ matrix.python }}"}) == "3.12"
    assert resolved("${{ env.V }}", LEG, {"V": "${{ env.V }}"}) == ""
