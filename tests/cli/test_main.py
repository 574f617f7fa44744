"""The entry point: help, exit codes, and one JSON document on standard output."""

import inspect
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
from typing_extensions import override

from groundup import __version__
from groundup.cli.main import FIRST, GATHERED, JOBS, about, create_app, declared, every_command, main
from groundup.domain.tasks import Task
from groundup.settings import Settings
from tests.cli.conftest import TWO, Groundup, Predict
from tests.needs import need_command
from tests.patience import patient
from tests.runs.toy import ToySuite

SOURCES = Path(__file__).parents[2] / "src"
PATH_ALONE = re.compile(r" *(?:\w+: )?/\S+")
HEAVY = (
    *("pydantic", "rich", "typer.rich_utils", "importlib.metadata", "asyncio", "numpy", "httpx"),
    *("groundup.settings", "groundup.runs", "groundup.sandbox", "groundup.api.requests"),
)
INTERRUPTED = """
import sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            raise {error}
sys.meta_path.insert(0, Interrupting())
"""
SWALLOWED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a program in the background ignores ^C
class Swallowing:
    def __del__(self):
        raise KeyboardInterrupt
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "groundup.cli.suites":
            Swallowing()
sys.meta_path.insert(0, Interrupting())
"""
MODULES = """
import sys
before = len(sys.modules)
from groundup.cli.main import main
code = main(sys.argv[1:])
print("\\n" + str(code), len(sys.modules) - before, *sys.modules)
"""


def modules_of(arguments: str, folder: Path) -> tuple[int, set[str]]:
    """Return how many modules *arguments* import in a process of its own, and all that are imported then."""
    program = [sys.executable, "-c", MODULES, *arguments.split()]
    # Data that somebody pulled on this machine would be read, which takes more modules.
    surroundings = {**os.environ, "GROUNDUP_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(program, capture_output=True, text=True, check=True, cwd=folder, env=surroundings)
    code, count, *names = done.stdout.splitlines()[-1].split()
    assert (code, [line for line in done.stderr.splitlines() if not line.startswith("groundup: ")]) == ("0", [])
    return int(count), set(names)


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    """`groundup --help` answers at once: what commands need is imported by the commands, and nothing draws."""
    count, names = modules_of("--help", tmp_path)
    assert not names & set(HEAVY)
    assert count < 220  # 168 when this was written


@pytest.mark.needs("git")
def test_a_list_of_tasks_imports_no_grader_and_no_settings(tmp_path: Path) -> None:
    """`groundup tasks nl2repobench` reads what people decided in recipes, and rich draws a table.

    Without Git it says which originals that leaves out, which takes settings.
    """
    count, names = modules_of("tasks nl2repobench", tmp_path)
    assert not names & {*HEAVY, "groundup.suites.base", "groundup.domain.records"} - {"rich"}
    heavy = ("groundup.grading", "groundup.store.folder", "groundup.store.records", "typer.rich")
    assert not [name for name in names if name.startswith(heavy)]
    assert count < 240  # 188 when this was written


EVALUATION = """
import sys
from groundup.cli import report, run
from groundup.api import reports, requests
reported = set(sys.modules)
from groundup.environments import local
from groundup.sandbox import bubblewrap
from groundup.suites.nl2repobench import official, strict, suite
print(len(reported), len(sys.modules), *sys.modules)
"""
REPORTING, GRADING = 440, 500
"""Modules, of Python and of all libraries, too; 434 and 494 when this was written, one more on other machines."""
UNUSED = {"h11", "httpx", "packaging", "tree_sitter", "yaml", "groundup.registries.server"} | {
    f"groundup.{name}" for name in ("registries.pypi.client", "registries.npm", "environments.java_builder")
}
UNUSED |= {"groundup.trees.archives", "tarfile", "backports.zstd"}
"""What serves or fetches packages, reads Java, parses sources or unpacks archives."""


def test_an_evaluation_imports_no_clients_of_registries() -> None:
    """Where layers are at hand nothing is fetched: reporting and grading import nothing that does it."""
    done = subprocess.run([sys.executable, "-c", EVALUATION], capture_output=True, text=True, check=True)
    reporting, grading, *names = done.stdout.split()
    assert not UNUSED & set(names)
    assert int(reporting) < REPORTING
    assert int(grading) < GRADING


ENDED = """
import atexit, gc
atexit.register(lambda: print(gc.get_freeze_count() > 10_000))
from groundup.__main__ import main
main()
"""


def test_a_command_s_end_looks_for_no_rubbish() -> None:
    """What was imported goes with the process: looking through it took 110 of 2,150 million instructions."""
    program = [sys.executable, "-c", ENDED, "--help"]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "True"


def listed_in(out: str) -> list[str]:
    """Return the commands that a help describes."""
    described = [line.split()[0] for line in out.splitlines() if re.match(r"  [a-z]+ {2,}\S", line)]
    return [name for name in described if name in {*GATHERED, *(one.partition(" ")[0] for one in every_command())}]


def that_are_there(table: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return the commands and groups of a table, but those whose package was removed."""
    there = {*GATHERED, *(name.partition(" ")[0] for name in every_command())}
    return [name for names in table.values() for name in names if name in there]


def test_the_first_screen_lists_what_readers_meet_and_names_the_others(groundup: Groundup) -> None:
    """Somebody new sees the way from a demo to a comparison on one screen, and that there is more."""
    out = groundup("--help").out
    assert listed_in(out) == that_are_there(FIRST)
    assert len(out.splitlines()) <= 60
    for name in every_command():
        assert re.search(rf"\b{name.partition(' ')[0]}\b", out)
    assert "groundup help all" in out


def test_what_help_lists_is_what_docstrings_say() -> None:
    """It is found in the sources, for lists import no command."""
    for name in every_command():
        assert inspect.cleandoc(about(name)) == inspect.cleandoc(declared(name)[0].__doc__ or "")


def test_the_whole_help_lists_every_command_once_by_job(groundup: Groundup) -> None:
    """Each has its line below the job that it does."""
    listed = sorted(name for names in JOBS.values() for name in names)
    assert listed == sorted({name.partition(" ")[0] for name in every_command(absent=True)})
    out = groundup("help", "all").out
    assert [name for name in listed_in(out) if name not in GATHERED] == that_are_there(JOBS)
    assert all(f"{job}:" in out for job in JOBS)


@pytest.mark.parametrize("name", [name for names in GATHERED.values() for name in names])
def test_what_is_gathered_in_a_group_works_by_itself_too(groundup: Groundup, name: str) -> None:
    """Lines that people know, and that pages show, stay right."""
    first = next(one for one in every_command(absent=True) if one == name or one.startswith(f"{name} "))
    need_command(first.split())
    (place,) = (one for one, names in GATHERED.items() if name in names)
    ended = groundup(place, name, "--help")
    assert ended.code == 0
    alone = groundup(name, "--help").out.replace(f" {name}", f" {place} {name}", 1)
    assert ended.out.split() == alone.split()
    assert name in groundup(place, "--help").out


def test_a_command_that_does_not_exist_is_answered_with_what_is_like_it(groundup: Groundup) -> None:
    """Commands are built when they are asked for; a slip of the finger still finds them."""
    assert "'evaluate'" in groundup("evalute").err
    assert "'pull'" in groundup("data", "pul").err


@pytest.mark.parametrize("name", every_command())
def test_every_command_has_help_with_examples(groundup: Groundup, name: str) -> None:
    """Somebody who asks sees what to type."""
    ended = groundup(*name.split(), "--help")
    assert ended.code == 0
    assert f"groundup {name}" in ended.out.replace("Usage:", "", 1)


@pytest.mark.parametrize("line", [line for name in every_command() for _, line in declared(name)[1]])
def test_every_example_is_understood(line: str) -> None:
    """An example whose options are gone would be worse than none."""
    program, *arguments = shlex.split(line)
    assert program == "groundup"
    reached: Any = create_app()
    while hasattr(reached, "commands"):
        reached = reached.get_command(typer.Context(reached), arguments.pop(0))
    reached.make_context(reached.name, arguments)


def test_help_and_version_are_commands_too(groundup: Groundup) -> None:
    """As in git and cargo."""
    assert groundup("help").out == groundup("--help").out
    assert groundup("help", "data", "pull").out == groundup("data", "pull", "--help").out
    assert groundup("version").out == groundup("--version").out


def test_the_version(groundup: Groundup) -> None:
    """One line for bug reports."""
    assert groundup("--version") == (0, f"groundup {__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["evalute"], "has no command 'evalute'"),
        (["run"], "name a suite and an agent"),
        (["report"], "groundup report needs RUNS"),
        (["run", TWO, "-a", "oracle", "--jobs", "0"], "--jobs: must be at least 1"),
    ],
)
def test_a_command_line_that_is_not_understood_ends_with_2(
    groundup: Groundup, arguments: list[str], says: str
) -> None:
    """Usage errors go to standard error; a reader of JSON gets the sentence in its one document, too."""
    ended = groundup(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err
    for asked in (("--json",), ("--format", "json"), ("--format=json",)):
        document = json.loads(groundup(*arguments, *asked).out)
        assert document["exit_code"] == 2
        assert says in document["error"]


class _Broken(ToySuite):
    """Fails where nothing of groundup looks for it."""

    @override
    def tasks(self) -> Sequence[Task]:
        """Divide by nothing."""
        raise ZeroDivisionError


def create_broken(settings: Settings) -> _Broken:
    """Return it."""
    return _Broken(2)


def test_a_bug_ends_with_1_and_names_its_log(
    groundup: Groundup, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No traceback in people's faces, and none lost."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ended = groundup("suites", "--json", "-x-does-not-exist")
    assert ended.code == 2
    ended = groundup("tasks", "tests.cli.test_main:create_broken")
    assert ended.code == 1
    assert "a bug: ZeroDivisionError" in ended.err
    assert "Traceback" not in ended.err
    (log,) = tmp_path.glob("groundup-bug-*.log")
    assert str(log) in ended.err
    assert "Traceback" in log.read_text()


def test_a_reader_that_leaves_is_no_bug(tmp_path: Path) -> None:
    """`groundup ... | head` ends as if by SIGPIPE and prints nothing about it, with tables and with JSON."""
    for arguments in ("suites", "suites --json", "report nowhere --json"):
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(
            [sys.executable, "-m", "groundup", *arguments.split()],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=tmp_path,
        )
        os.close(writing)
        assert done.returncode == 141
        assert "Traceback" not in done.stderr
        assert "Exception" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, which is always full")
@pytest.mark.parametrize("arguments", ["suites", "suites --json"])
def test_output_that_cannot_be_written_is_the_machine_s_fault(arguments: str, tmp_path: Path) -> None:
    """A full disk behind standard output ends with 3 and one sentence."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "groundup", *arguments.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=tmp_path,
        )
    assert done.returncode == 3
    assert done.stderr.count("No space left on device") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, which is always full")
@pytest.mark.parametrize("arguments", ["suites", "report nowhere"])
def test_where_nobody_can_be_told_the_exit_code_says_it(arguments: str, tmp_path: Path) -> None:
    """Both streams are on a full disk, as in `> log 2>&1`; Python's own code would be 120."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "groundup", *arguments.split()],
            stdout=full,
            stderr=subprocess.STDOUT,
            check=False,
            cwd=tmp_path,
        )
    assert done.returncode == 3


def test_ctrl_c_ends_with_130(predict: Predict, tmp_path: Path) -> None:
    """A run that is interrupted says how to go on; what was graded stays."""
    predictions = predict({"task-0000": "pass", "task-0001": "sleep 60"})
    program = [
        sys.executable,
        "-m",
        "groundup",
        "evaluate",
        TWO,
        "-p",
        str(predictions),
        "--run-id",
        "r",
        "-j",
        "1",
    ]
    environment = {
        "GROUNDUP_CACHE_DIR": str(tmp_path / "cache"),
        "GROUNDUP_OUTPUT": str(tmp_path / "runs"),
        "GROUNDUP_SANDBOX": "tests.runs.toy:create_provider",
        "GROUNDUP_BUILDER": "tests.runs.toy:create_builder",
    }
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        program, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        assert process.stderr is not None
        for line in process.stderr:
            if "task-0000/0 graded" in line:
                process.send_signal(2)
                break
        out, err = process.communicate(timeout=patient(60))
    assert process.returncode == 130
    assert "groundup resume" in err
    assert "task-0000" in out


def test_main_without_arguments_shows_help(capsys: pytest.CaptureFixture[str]) -> None:
    """The first thing that people type."""
    main([])
    assert "evaluate" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["tasks nl2repobench", "tasks repogenesis", "suites", "data list"])
def test_tables_fit_eighty_columns(groundup: Groundup, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    """Piped output follows COLUMNS; without it, 120 columns. Only a path, alone on its line, may be longer."""

    def widest() -> int:
        shown = groundup(*command.split())
        assert shown.code == 0
        return max(len(line) for line in shown.out.splitlines() if not PATH_ALONE.fullmatch(line))

    monkeypatch.setenv("COLUMNS", "80")
    assert widest() <= 80
    monkeypatch.delenv("COLUMNS")
    assert widest() <= 120


@pytest.mark.parametrize(
    "encoding", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}]
)
def test_output_that_lacks_characters_has_others(encoding: dict[str, str], tmp_path: Path) -> None:
    """Where a terminal knows no UTF-8, a table has plain lines, and JSON is complete."""
    (tmp_path / "ünï" / "run").mkdir(parents=True)
    (tmp_path / "ünï" / "run" / "config.json").write_text("{}")

    def groundup(*arguments: str) -> str:
        program = [sys.executable, "-m", "groundup", *arguments, "-o", "ünï"]
        surroundings = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES), **encoding}
        done = subprocess.run(program, capture_output=True, check=False, cwd=tmp_path, env=surroundings)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode("ascii")

    shown = groundup("runs")
    assert "-----" in shown
    assert "ü" not in shown
    assert [one["run"] for one in json.loads(groundup("runs", "--json"))["runs"]] == ["run"]


@pytest.mark.parametrize("error", ["KeyboardInterrupt", "RuntimeError from KeyboardInterrupt()"])
@pytest.mark.parametrize("module", ["typer", "groundup.cli.suites", "rich"])
def test_ctrl_c_while_modules_load_is_a_line(module: str, error: str, tmp_path: Path) -> None:
    """Who thinks better of it at once sees no traceback; a module that is interrupted stands for the moment.

    Python 3.11 wraps what interrupts it while it makes a class.
    """
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTED.format(module=module, error=error))
    surroundings = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{tmp_path}:{SOURCES}"}
    program = [sys.executable, "-m", "groundup", "suites"]
    done = subprocess.run(program, capture_output=True, text=True, check=False, cwd=tmp_path, env=surroundings)
    assert done.returncode == 130
    assert done.stderr == "groundup: interrupted\n"


def test_ctrl_c_that_an_extension_module_swallows_counts(tmp_path: Path) -> None:
    """Otherwise the command would go on, and a traceback of "ignored" would stand above its output."""
    (tmp_path / "sitecustomize.py").write_text(SWALLOWED)
    surroundings = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{tmp_path}:{SOURCES}"}
    program = [sys.executable, "-m", "groundup", "suites"]
    done = subprocess.run(program, capture_output=True, text=True, check=False, cwd=tmp_path, env=surroundings)
    assert (done.returncode, done.stderr) == (130, "groundup: interrupted\n")
