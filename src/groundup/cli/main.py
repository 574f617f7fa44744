"""The entry point: puts the commands together and maps every ending to an exit code, here and nowhere else.

0 every attempt has a verdict; 1 a bug of groundup; 2 bad input; 3 infrastructure failures remain; 4 below
--fail-under, or what a run's folder holds does not fit; 130 interrupted; 141 the reader of our output left.
"""

import _thread
import errno
import gc
import re
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import typer

from groundup.cli.console import (
    forget_output,
    print_document,
    replace_closed_streams,
    replace_what_cannot_be_written,
    say,
)
from groundup.cli.options import (
    GROUPS_OF_COMMANDS,
    INTERRUPTED,
    AbsentCommand,
    CommandPanel,
    Examples,
    Member,
    StrictCommand,
    command,
    group,
)
from groundup.configuration import (
    VariableWarning,
    unusable_surroundings,
    without_plugins_of_records,
    words_with_home,
)
from groundup.domain.version import __version__
from groundup.extensions import EXTENSIONS, owner_of

COMMANDS = {
    "doctor": "doctor:doctor",
    "demo": "demo:demo",
    "docs": "installation:docs",
    "agents": "agents:agents",
    "models check": "model_checks:check_model",
    "suites": "suites:suites",
    "tasks": "suites:tasks",
    "data pull": "data:pull",
    "data list": "data:list_data",
    "data convert": "data:convert",
    "registry snapshot": "snapshot:snapshot",
    "ablate": "submissions:ablate",
    "run": "run:run",
    "evaluate": "run:evaluate",
    "serve": "serve:serve",
    "view": "view:view",
    "resume": "run:resume",
    "regrade": "run:regrade",
    "report": "report:report",
    "compare": "report:compare",
    "review": "report:review",
    "shell": "shell:shell",
    "show": "attempts:show",
    "why": "why:why",
    "export": "submissions:export",
    "warm": "warm:warm",
    "runs": "report:runs",
    "init": "installation:init",
    "clean": "installation:clean",
}
"""The module and the function of groundup's own commands; `extensions.py` has the others.

Two words: a group and its command. A module is imported when its command is asked for, and so may import what that
needs. Its `EXAMPLES` are what the commands' help shows.
"""


def every_command(*, absent: bool = False) -> list[str]:
    """Return the names of all commands, on demand also of those whose extension package is *absent*."""
    return [*COMMANDS, *(name for one in EXTENSIONS if absent or one.present() for name in one.commands)]


def declared(name: str) -> tuple[Callable[..., int], Examples]:
    """Return the function and the examples of a command."""
    module, function = _place(name)
    loaded = import_module(module)
    return getattr(loaded, function), loaded.EXAMPLES[name]


def about(name: str) -> str:
    """Return what a command's docstring says, by its source: who lists commands imports none of them."""
    module, function = _place(name)
    spec = find_spec(module)
    source = Path(spec.origin).read_bytes().decode(errors="replace") if spec and spec.origin else ""
    found = re.search(rf'^def {function}\(.*?^    """(.*?)"""', source, re.DOTALL | re.MULTILINE)
    return found[1] if found else declared(name)[0].__doc__ or ""


def _place(name: str) -> tuple[str, str]:
    owner = owner_of(name)
    package, place = ("groundup.cli", COMMANDS[name]) if owner is None else (owner.name, owner.commands[name])
    module, _, function = place.partition(":")
    return f"{package}.{module}", function


_HELP = {"help_option_names": ["-h", "--help"]}
GROUPS = {
    "data": "Fetch the published data of benchmarks.",
    "registry": "Record which packages exist in registries.",
    "models": "Try a model before a run relies on it.",
    "recipe": "Make and check recipes, which hold what strict grading needs.",
    "task": "Make tasks and check them: curate, recipe, audit, image.",
    "machine": "Prepare machines: doctor, warm, fleet, clean.",
}
"""What each group of commands is about; `extensions.py` has the others."""

GATHERED = {"task": ("curate", "recipe", "audit", "image"), "machine": ("doctor", "warm", "fleet", "clean")}
"""Groups of what is seldom needed; `groundup audit` works like `groundup task audit`."""

FIRST = {
    "Begin": ("demo", "doctor", "suites", "tasks", "data", "agents", "init", "docs"),
    "Measure": ("evaluate", "run", "resume", "regrade", "serve"),
    "Understand": ("report", "why", "show", "shell", "compare", "view", "runs", "judge"),
    "Make": ("curate", "infer"),
    GROUPS_OF_COMMANDS: ("task", "machine"),
}
"""What `groundup --help` lists, a line each: what README shows."""

JOBS = {
    "Measure": (
        "evaluate",
        "run",
        "report",
        "compare",
        "show",
        "why",
        "resume",
        "view",
        "runs",
        "serve",
        "leaderboard",
    ),
    "Look closer": ("shell", "review", "regrade", "judge", "export", "harbor", "ablate"),
    "Benchmarks and their tasks": ("suites", "tasks", "agents", "models", "data", "recipe", "curate", "audit"),
    "Dependencies of a repository": ("infer", "registry"),
    "Machines": ("doctor", "fleet", "warm", "image", "init", "demo", "docs", "clean"),
}
"""Every command and group by what somebody wants to do, as `groundup help all` lists them."""

ABOUT = """Measure software built from the ground up.

Does a repository that an agent, a model or an IDE made install, start and pass hidden tests?

Exit codes: 0 every attempt has a verdict, 1 a bug of groundup, 2 bad input, 3 infrastructure failures remain
(`groundup resume` can finish them), 4 below --fail-under or records that do not fit, 130 interrupted (resumable).
"""


READER_LEFT = 141
"""What a shell says of a program that SIGPIPE ended."""

MACHINE_FAULTS = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
    errno.EIO,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
)
RESUMABLE = ("run", "evaluate", "resume", "regrade", "demo")
"""Commands that leave a run which `groundup resume` finishes."""
PERMISSIONS = (errno.EACCES, errno.EPERM)


def create_app(*, whole: bool = False) -> CommandPanel:
    """Return the command line; its help lists what is used most, or the *whole*."""
    app = typer.Typer(
        cls=CommandPanel,
        help=ABOUT,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings=_HELP,
    )
    app.callback()(_callback)
    every = [*(name for names in JOBS.values() for name in names), *GATHERED]
    members = {name: _member(name) for name in every}
    absent = [name for name in every if members[name].is_absent]
    if whole:
        jobs = {job: tuple(name for name in names if name not in absent) for job, names in JOBS.items()}
        return group(app, members, {**jobs, "Groups of them": tuple(GATHERED)}, absent)
    return group(app, members, FIRST, [*absent, *(name for names in GATHERED.values() for name in names)])


def _member(name: str) -> Member:
    owner = owner_of(name)
    if owner is not None and not owner.present():
        sentence = owner.missing(f"`groundup {name}`")
        return Member(lambda: sentence, lambda: AbsentCommand(name, help=sentence), is_absent=True)
    purpose = GROUPS.get(name) if owner is None else owner.groups.get(name)
    return _command(name) if purpose is None else _group(name, purpose)


def _group(name: str, purpose: str) -> Member:
    prefix = f"{name} "

    def build() -> CommandPanel:
        members = {one: _member(one) for one in GATHERED.get(name, ())}
        known = [one for one in every_command(absent=True) if one.startswith(prefix)]
        members |= {one.removeprefix(prefix): _member(one) for one in known}
        here = tuple(one for one in members if not members[one].is_absent)
        about = purpose if here else f"{purpose}\n\n{next(iter(members.values())).summary}"
        app = typer.Typer(name=name, cls=CommandPanel, help=about, context_settings=_HELP)
        return group(app, members, {"Commands": here} if here else {}, members.keys() - here)

    here = name in GATHERED or any(one.startswith(prefix) for one in every_command())
    return Member(lambda: purpose, build, is_absent=not here)


def _command(name: str) -> Member:
    def build() -> Any:
        function, examples = declared(name)
        app = typer.Typer(
            add_completion=False,
            pretty_exceptions_enable=False,
            rich_markup_mode="rich",
            context_settings=_HELP,
        )
        app.command(name.rpartition(" ")[2], cls=StrictCommand)(command(function, examples))
        made: Any = typer.main.get_command(app)
        made.example = examples[0][1]
        return made

    return Member(lambda: about(name), build)


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"groundup {__version__}\n")
        raise typer.Exit


def _callback(
    version: bool = typer.Option(
        False, "--version", help="Print the version.", is_eager=True, callback=_print_version
    ),
) -> None:
    """Take the options that stand before a command."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    # Modules and records stay: to look for rubbish among them as often as Python does is a tenth of a start.
    gc.set_threshold(150_000)
    replace_closed_streams()
    if arguments is None:  # this process is ours
        sys.unraisablehook = _interrupt_again
        warnings.formatwarning = _told
    without_plugins_of_records()
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] in (["export"], ["import"]) and given[1:2] == ["harbor"]:
        given[:2] = reversed(given[:2])
    if given[:1] == ["help"]:
        given = [*given[1:], "--help"]
    elif given == ["version"]:
        given = ["--version"]
    given = words_with_home(given)
    replace_what_cannot_be_written()
    try:
        why = unusable_surroundings()
        code, message = _failed(2, why) if why else _ending(given)
        if message and _json_is_asked(given):  # readers of JSON get their one document in any case
            print_document({"error": message, "exit_code": code})
        sys.stdout.flush()
    except BrokenPipeError:  # such as `groundup report my-run | head`
        forget_output()
        return READER_LEFT
    except OSError as error:
        try:
            return _system_fault(error, given)[0]
        except OSError:  # nor can anybody be told
            forget_output(sys.__stderr__)
            return 3
    return code


def _ending(given: list[str]) -> tuple[int, str | None]:
    """Return the exit code, and what went wrong when the command printed nothing."""
    from groundup.domain.errors import InfrastructureError, SubmissionError, TaskError, UsageError

    try:
        if whole := given == ["all", "--help"]:
            given = ["--help"]
        return (0 if _glanced(given) else _called(create_app(whole=whole), given)), None
    except SystemExit as ending:
        if isinstance(ending.__context__, BrokenPipeError):
            raise ending.__context__ from None
        return ending.code if isinstance(ending.code, int) else 0, None
    except KeyboardInterrupt:
        return _interrupted(given)
    except (UsageError, SubmissionError, TaskError) as error:  # of a broken task: ask for another one
        return _failed(2, str(error))
    except InfrastructureError as error:
        return _failed(3, str(error))
    except BrokenPipeError:
        raise
    except OSError as error:
        return _system_fault(error, given)
    except Exception as error:  # noqa: BLE001  # the entry point: whatever it is, people get a sentence and a log
        return _bug(error, given)


def _called(app: CommandPanel, given: list[str]) -> int:
    """Call the command line; return its exit code. Raises `UsageError` for what it does not understand."""
    from groundup.domain.errors import UsageError

    try:
        code = app(args=given, prog_name="groundup", standalone_mode=False)
    except typer.Abort as error:  # ^C, or an end of input where a question was asked
        raise KeyboardInterrupt from error
    except Exception as error:
        if not hasattr(error, "format_message"):  # each error of the parser has it, in every version of typer
            raise
        from groundup.cli.refusals import refused

        raise UsageError(refused(error, given)) from error
    if code == INTERRUPTED:  # no command ends with it and returns
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0


def _json_is_asked(given: list[str]) -> bool:
    return "--json" in given or "--format=json" in given or ("--format", "json") in pairwise(given)


_formatted = warnings.formatwarning


def _told(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> str:
    """Return a warning of ours without its place in the source."""
    if issubclass(category, VariableWarning):
        return f"groundup: {message}\n"
    return _formatted(message, category, *place, **more)


def _interrupt_again(unraisable: Any) -> None:
    """Repeat a ^C that was swallowed, as by extension modules while they are imported; the run would go on."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        again = threading.Timer(0.01, _thread.interrupt_main)  # here it would be swallowed, too
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(unraisable)


def _interrupted(given: list[str]) -> tuple[int, str]:
    more = "; `groundup resume` finishes a run that had begun" if given[:1] and given[0] in RESUMABLE else ""
    say(f"groundup: interrupted{more}")
    return INTERRUPTED, "interrupted"


def _glanced(given: list[str]) -> bool:
    """Answer `groundup tasks SUITE` without typer, whose check of options takes longer than the answer."""
    if len(given) != 2 or given[0] != "tasks":
        return False
    from groundup.cli.suites import glanced

    return glanced(given[1])


def _system_fault(error: OSError, given: list[str]) -> tuple[int, str]:
    """Tell what the system refused: a name that somebody chose, or what the machine lacks. All else is a bug."""
    from groundup.domain.errors import FAULTS_OF_NAMES

    place = str(error.filename or "where the output goes")
    place = place if len(place) <= 200 else f"{place[:197]}..."
    if not error.filename:
        forget_output()
    if error.errno in PERMISSIONS:
        return _failed(3, f"{place}: {error.strerror}; change its mode or its owner, or name another place")
    if error.errno in MACHINE_FAULTS:
        return _failed(3, f"{error.strerror} ({place}); mend that and try again")
    if error.errno in FAULTS_OF_NAMES and error.filename:
        return _failed(2, f"{place}: {error.strerror}; name another place")
    return _bug(error, given)


def _bug(error: Exception, given: list[str]) -> tuple[int, str]:
    if isinstance(error, RuntimeError) and isinstance(error.__cause__, KeyboardInterrupt):
        return _interrupted(given)  # which Python 3.11 wraps while it makes a class
    message = f"a bug: {type(error).__name__}: {error}"
    return _failed(1, f"{message}; please report it with the log {_bug_log(given)}")


def _failed(code: int, message: str) -> tuple[int, str]:
    say(f"groundup: {message}")
    return code, message


def _bug_log(given: list[str]) -> Path:
    """Write the traceback where it can be found again."""
    import platform
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile(
        "w", prefix="groundup-bug-", suffix=".log", delete=False, encoding="utf-8", errors="backslashreplace"
    ) as log:
        log.write(
            f"groundup {__version__}, Python {platform.python_version()}, {platform.platform()}\n{given}\n\n"
        )
        log.write(traceback.format_exc())
        return Path(log.name)
