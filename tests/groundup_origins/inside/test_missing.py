"""Statements that a function may lack, out of those that others have."""

import ast
from pathlib import Path

import pytest

from groundup_origins.inside.functions import Function, functions_of
from groundup_origins.inside.missing import _conditions, _raised, donors, plain_statements

SHOP = """
LIMIT = 3


class Shop:
    def __init__(self, name):
        self.open = True
        label = "x"

    def sell(self, what):
        if what is None:
            raise ValueError("nothing")
        if what in self.sold:
            self.again = True
        else:
            self.again = False
        for one in what:
            if one:
                continue
            done = False
        self.sold.append(what)
        self.count += 1
        return done


def cut(words):
    if words:
        flag = True
    if words:
        a = 1
        b = 2
    words.clear()
    del words
"""


@pytest.fixture
def functions(tmp_path: Path) -> list[Function]:
    """The functions of a small module."""
    (tmp_path / "shop.py").write_text(SHOP)
    return functions_of(str(tmp_path / "shop.py"))


def test_checks_come_before_settings(functions: list[Function]) -> None:
    """A truth is also offered the other way round; what an object holds may be lacking in its own function too."""
    found = [
        (one.function.node.name, " ".join(ast.unparse(one.statement).split()), sorted(one.names), one.own)
        for one in donors(functions)
    ]
    assert found == [
        ("sell", "if what is None: raise ValueError('nothing')", ["what"], False),
        ("sell", "if one: continue", ["one"], False),
        ("cut", "if words: flag = True", ["words"], False),
        ("cut", "if words: flag = False", ["words"], False),
        ("__init__", "self.open = True", [], False),
        ("__init__", "self.open = False", [], False),
        ("__init__", "label = 'x'", [], True),
        ("sell", "self.again = True", [], False),
        ("sell", "self.again = False", [], False),
        ("sell", "self.again = False", [], False),
        ("sell", "self.again = True", [], False),
        ("sell", "done = False", [], True),
        ("sell", "done = True", [], True),
        ("cut", "flag = True", [], True),
        ("cut", "flag = False", [], True),
        ("cut", "a = 1", [], True),
        ("cut", "b = 2", [], True),
    ]


def test_plain_statements_change_more_than_a_variable(functions: list[Function]) -> None:
    """Calls, and what sets something of an object; each once of a function."""
    found = [(one.function.node.name, ast.unparse(one.statement)) for one in plain_statements(functions)]
    assert found == [
        ("__init__", "self.open = True"),
        ("sell", "self.sold.append(what)"),
        ("sell", "self.count += 1"),
        ("sell", "self.again = True"),
        ("sell", "self.again = False"),
        ("cut", "words.clear()"),
    ]


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("raise ValueError('x')", "ValueError"),
        ("raise errors.Odd", "Odd"),
        ("raise errors.Odd(1)", "Odd"),
        ("raise", ""),
        ("return x", ""),
    ],
)
def test_the_exception_that_is_raised_has_a_name(statement: str, name: str) -> None:
    """However it is written."""
    assert _raised(ast.parse(statement).body[0]) == name


@pytest.mark.parametrize(
    ("lost", "passing", "conditions"),
    [
        ([("a", "NoneType", False)], [[("a", "int", False)]], ["not isinstance(a, int)", "a is None"]),
        ([("a", "str", False)], [[("a", "int", False)]], ["not isinstance(a, int)", "isinstance(a, str)"]),
        ([("a", "list", True)], [[("a", "list", False)]], ["not a"]),
        ([("a", "is X", False)], [[("a", "is Y", False)]], ["a is X"]),
        (
            [("a", "NoneType", False), ("b", "list", True)],
            [[("a", "NoneType", False), ("b", "list", False)], [("a", "int", False), ("b", "list", True)]],
            ["a is None and not b"],
        ),
        ([("a", "int", False)], [[("a", "int", False)]], []),
        ([("a", "", False)], [[("a", "int", False)]], ["not isinstance(a, int)"]),
    ],
)
def test_conditions_hold_of_lost_tests_alone(
    lost: list[tuple[str, str, bool]], passing: list[list[tuple[str, str, bool]]], conditions: list[str]
) -> None:
    """One of them, or two where none alone does."""
    assert list(_conditions(lost, passing)) == conditions
