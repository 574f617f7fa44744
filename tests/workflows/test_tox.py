"""What tox's environments and nox's sessions run."""

import pytest

from groundup.workflows.tox import _holds, _split, nox_sessions, tox_environments
from tests.workflows.made import MadeTree

TOX = """[tox]
envlist = py{39,310}-{a,b}, lint  # not this
    docs
[testenv]
commands_pre = pip list
commands =
    py39: pytest {posargs:tests}
    !py39: pytest -n {env:N:2} \\
        -q
    -flake8 x
    ! false
    # no
    {[shared]run}
commands_post = coverage report
[testenv:lint]
base = other
ignore_outcome = True
commands = {envpython} -m ruff
[testenv:py311-{x,y}]
commands = {[shared]run}
[testenv:docs]
commands_pre =
commands = sphinx {[shared]options}
[other]
commands_post = post
[shared]
run = make {basepython}
options = -W
"""
TREE = MadeTree({"tox.ini": TOX})
COMMON = ["flake8 x || true", "false", "make python", "coverage report"]
LINES = {
    "py39-a": ["pip list", "pytest tests", *COMMON],
    "py310-b": ["pip list", "pytest -n 2  -q", *COMMON],
    "py": ["pip list", "pytest -n 2  -q", *COMMON],
    "py311-x": ["pip list", "make python", "coverage report"],
    "lint": ["python -m ruff || true", "post || true"],
    "docs": ["sphinx -W", "coverage report"],
}


@pytest.mark.parametrize("name", LINES)
def test_an_environment_runs_what_its_factors_leave(name: str) -> None:
    """Its own section before that of all, with what comes before and after, and other sections' words."""
    (found,) = tox_environments(TREE, "", ["-e", name], None)
    assert (found.name, found.lines) == (name, LINES[name])
    assert found.is_for_tests is name.startswith("py")


@pytest.mark.parametrize(
    ("words", "variable", "names"),
    [
        ("", None, "py39-a py39-b py310-a py310-b lint docs"),
        ("-e ALL", None, "py39-a py39-b py310-a py310-b lint docs"),
        ("-e lint,docs", "py", "lint docs"),
        ("-e py{39,310}", None, "py39 py310"),
        ("", "lint", "lint"),
        ("-f b", None, "py39-b py310-b"),
        ("-f ${PY}-a", None, "py39-a py310-a"),
        ("-f b-py39", None, "py39-b"),
        ("-f nothing", None, "nothing"),
        ("-e py$VERSION", None, "py"),
        ("-e $X", None, "py"),
        ("-e lint -- -e docs", None, "lint"),
    ],
)
def test_the_environments_that_tox_is_asked_for(words: str, variable: str | None, names: str) -> None:
    """By words before a variable, and all that are listed where neither names one."""
    found = tox_environments(TREE, "", words.split(), variable)
    assert " ".join(one.name for one in found) == names


@pytest.mark.parametrize(
    ("path", "text", "names", "lines"),
    [
        (
            "tox.toml",
            "env_list = ['a', 'b']\n[env_run_base]\n"
            "commands = [['pytest', {replace = 'posargs', default = ['x']}]]\n"
            "[env.b]\nignore_outcome = true\ncommands = [['ruff', 1], 'plain']\n",
            ["a", "b"],
            [["pytest x"], ["ruff || true", "plain || true"]],
        ),
        ("pyproject.toml", "[tool.tox]\nlegacy_tox_ini = '''\n[testenv]\ncommands = z\n'''\n", ["py"], [["z"]]),
        ("pyproject.toml", "[tool.tox]\nenv_list = ['w']\nenv_run_base.commands = ['x']\n", ["w"], [["x"]]),
        ("setup.cfg", "[tox:tox]\nenvlist = s\n[testenv]\ncommands: c\n", ["s"], [["c"]]),
        ("setup.py", "", ["py"], [None]),
    ],
)
def test_each_file_of_tox_is_read(path: str, text: str, names: list[str], lines: list[object]) -> None:
    """Below the folder in which it is called; without one, nothing is known of what it runs."""
    found = tox_environments(MadeTree({f"sub/{path}": text}), "sub", [], None)
    assert [one.name for one in found] == names
    assert [one.lines for one in found] == lines


def test_the_first_file_counts() -> None:
    """In tox's own order."""
    files = {"tox.ini": "[testenv]\ncommands = a\n", "tox.toml": "env_run_base.commands = ['b']\n"}
    assert tox_environments(MadeTree(files), "", [], None)[0].lines == ["a"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("py{3,4}", "py3 py4"),
        ("a,b c\n  d # e\n# f", "a b c d"),
        ("{1-3}x", "1x 2x 3x"),
        ("x{ 1-2 }", "x1 x2"),
        ("{a,b}-{c,d}", "a-c a-d b-c b-d"),
        ("a{b", "a{b"),
        ("a{1-60}", " ".join(f"a{number}" for number in range(1, 61))),
        ("a{1-61}", "a1-61"),
        ("", ""),
    ],
)
def test_braces_stand_for_names(text: str, names: str) -> None:
    """Ranges as far as anybody tests."""
    assert " ".join(_split(text)) == names


@pytest.mark.parametrize(
    ("condition", "factors", "holds"),
    [
        ("py39", "py39-a", True),
        ("py39-a", "py39", False),
        ("!py39", "py310", True),
        ("!py39", "py39", False),
        ("a,b", "b", True),
        ("py{39,310}", "py310", True),
        ("a-!b", "a", True),
        ("a-!b", "a-b", False),
    ],
)
def test_factors_decide_lines(condition: str, factors: str, holds: bool) -> None:
    """All of one choice must hold."""
    assert _holds(condition, set(factors.split("-"))) is holds


NOX = """import nox
@nox.session(name="a", tags=["slow", "style"])
@nox.session(python="3.9", name="b")
def many(session):
    session.install("x")
    session.run("pytest", *session.posargs, "-q")
    session.run_always("make", success_codes=[0, 1])
    session.run("flake8", success_codes=[0])
@nox.session
def lint(session):
    other.run(x)
@nox.session
def unit_tests(s): s.run("p")
def no(session): session.run("q")
"""
MANY = ["pytest -q", "make || true", "flake8"]


@pytest.mark.parametrize(
    ("words", "variable", "found"),
    [
        ("", None, {"a": MANY, "b": MANY, "lint": [], "unit_tests": ["p"]}),
        ("-s a lint", None, {"a": MANY, "lint": []}),
        ("-s a -x lint", None, {"a": MANY}),
        ("--session=unit_tests-3.9(q)", None, {"unit_tests": ["p"]}),
        ("", "lint,unit_tests", {"lint": [], "unit_tests": ["p"]}),
        ("-s lint", "a", {"lint": []}),
        ("-t style", None, {"a": MANY}),
        ("-t tests", None, {"unit_tests": ["p"]}),
        ("-e absent", None, {"absent": None}),
        ("-s lint -- -s a", None, {"lint": []}),
    ],
)
def test_the_sessions_that_nox_is_asked_for(
    words: str, variable: str | None, found: dict[str, list[str] | None]
) -> None:
    """By name or by tag; by a word of the name where no session has the tag."""
    sessions = nox_sessions(MadeTree({"noxfile.py": NOX}), "", words.split(), variable)
    assert {one.name: one.lines for one in sessions} == found


def test_without_a_file_there_are_no_sessions() -> None:
    """Nothing is made up."""
    assert nox_sessions(MadeTree({}), "", [], None) == []
