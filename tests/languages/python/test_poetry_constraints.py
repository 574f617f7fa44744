"""Tests of groundup.languages.python.poetry."""

import pytest

from groundup.languages.python.poetry import specifier


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        ("^1.2.3", ">=1.2.3,<2"),
        ("^0.2.3", ">=0.2.3,<0.3"),
        ("^0.0.3", ">=0.0.3,<0.0.4"),
        ("^0", ">=0,<1"),
        ("~1.2.3", ">=1.2.3,<1.3"),
        ("~1", ">=1,<2"),
        ("1.2.*", ">=1.2,<1.3"),
        ("*", ""),
        ("1.2", "==1.2"),
        (">=1, <2", ">=1,<2"),
        ("~=1.4", "~=1.4"),
        ("!=1.*", "!=1.*"),
        ("^1 || ^2.1 | ^2", ">=1,<3"),
        ("^1 || >=2", ">=1"),
    ],
)
def test_poetry_constraints(constraint: str, expected: str) -> None:
    """Carets, tildes and wildcards become the ranges that they mean."""
    assert specifier(constraint) == expected


@pytest.mark.parametrize("constraint", ["^1 || ^3", "1 || 2", "latest"])
def test_poetry_constraints_that_fail(constraint: str) -> None:
    """Alternatives with a gap have no form that the published code could compare: it raises."""
    with pytest.raises(ValueError, match=r"alternatives|latest"):
        specifier(constraint)
