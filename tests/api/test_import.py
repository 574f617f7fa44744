"""`import groundup`: quick, complete, and documented."""

import ast
import inspect
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import typer

import groundup
from groundup.api import flags
from groundup.api.flags import EvaluateFlags, RegradeFlags, ResumeFlags, RunFlags, flag_of
from groundup.cli.main import create_app

HEAVY = (
    "pydantic",
    "asyncio",
    "httpx",
    "numpy",
    "rich",
    "typer",
    "groundup.settings",
    "groundup.cli",
    "groundup.api",
)


def test_importing_imports_nothing_heavy() -> None:
    """What functions need is imported when they are used; counted in modules, for clocks differ."""
    program = (
        "import sys; before = len(sys.modules); import groundup; print(len(sys.modules) - before, *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    count, *names = done.stdout.split()
    assert not set(names) & set(HEAVY)
    assert int(count) < 40  # 4 when this was written, where nothing else had been imported


def test_every_name_is_there_for_people_and_for_type_checkers() -> None:
    """The names that are offered exist, are documented, and are the ones that a type checker sees."""
    assert set(groundup.__all__) <= set(dir(groundup))
    for name in groundup.__all__:
        found = getattr(groundup, name)
        assert name == "Event" or inspect.getdoc(found)
    tree = ast.parse(Path(str(groundup.__file__)).read_text())
    typed = {
        alias.asname for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
    } - {None, "__version__"}
    assert typed == set(groundup.__all__)
    assert Path(str(groundup.__file__)).with_name("py.typed").exists()
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        groundup.evalute  # noqa: B018


def test_every_function_has_a_twin_for_event_loops() -> None:
    """`<name>_async` takes what `<name>` takes, but for a progress callback where events can be followed."""
    names = {
        "evaluate",
        "run",
        "resume",
        "regrade",
        "report",
        "compare",
        "review",
        "tasks",
        "list_suites",
        "list_runs",
        "open_episode",
    }
    assert {name for name in groundup.__all__ if f"{name}_async" in groundup.__all__} == names
    for name in names:
        plain = inspect.signature(getattr(groundup, name)).parameters.keys()
        twin = inspect.signature(getattr(groundup, f"{name}_async")).parameters.keys()
        assert plain - twin <= {"progress"}
        assert not twin - plain


@pytest.mark.parametrize("kind", [EvaluateFlags, RunFlags, ResumeFlags, RegradeFlags])
def test_every_flag_says_what_it_means(kind: type) -> None:
    """Its declaration is the help of the command line as well."""
    hints = inspect.get_annotations(kind)
    assert hints
    for hint in hints.values():
        flag = flag_of(hint)
        assert flag is not None
        assert flag.help.endswith((".", "`."))
    assert flags.__doc__


@pytest.mark.parametrize(
    ("command", "kind"),
    [("evaluate", EvaluateFlags), ("run", RunFlags), ("resume", ResumeFlags), ("regrade", RegradeFlags)],
)
def test_keyword_arguments_are_the_options_of_the_command_line(command: str, kind: type) -> None:
    """Who knows one knows the other."""
    app = create_app()
    options = {parameter.name for parameter in app.get_command(typer.Context(app), command).params}
    assert inspect.get_annotations(kind).keys() <= options


def test_every_flag_is_declared_once() -> None:
    """A flag that several commands take has one declaration: its words stand in no second place."""
    said: Counter[str] = Counter()
    for path in Path(groundup.__file__).parents[1].glob("groundup*/**/*.py"):
        text = path.read_text(encoding="utf-8")
        if "FlagHelp(" not in text and "typer.Option(" not in text:
            continue
        for call in (one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Call)):
            if ast.unparse(call.func) in ("FlagHelp", "typer.Option"):
                texts = {one.value for one in ast.walk(call) if isinstance(one, ast.Constant)}
                said.update(text for text in texts if isinstance(text, str) and _is_help(text))
    assert len(said) > 90  # packages beside groundup, of which any may be absent, have more
    assert {words: times for words, times in said.items() if times > 1} == {}


def _is_help(text: str) -> bool:
    """Whether *text* is a whole sentence; a few words, such as "Tasks at once.", may be said of two flags."""
    return text.endswith(".") and len(text) > 35
