"""How options and groups of commands are declared: options that commands share, and flags of the API as options.

A command takes a group as one parameter: a dataclass of options, or a `TypedDict` of the API's flags, which holds
what the command line names and nothing else. `command` turns both into options.

Building every command, and drawing the list with rich, would take longer than all else that `groundup --help`
does.
"""

import functools
import inspect
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_type_hints, is_typeddict

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from groundup.api.flags import AnyPath, Assignments, Names, Time, flag_of, is_time
from groundup.domain.errors import UsageError
from groundup.domain.replaced_flags import refuse_gone
from groundup.reports.forms import Format

TALK = "Output"
INTERRUPTED = 130


Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.", rich_help_panel=TALK)]
Suite = Annotated[
    str,
    typer.Argument(metavar="SUITE", help="A suite's name (see `groundup suites`) or `package.module:attribute`."),
]
Run = Annotated[
    str, typer.Argument(metavar="RUN", help="A run's folder, its id in the output folder, or `latest`.")
]
ReportFormat = Annotated[
    Format,
    typer.Option(
        "--format",
        help="Form of the report on standard output, of which `groundup report` knows more.",
        rich_help_panel=TALK,
    ),
]
FailUnder = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=1,
        help="Exit with 4 when the mean score is below this share, such as 0.9.",
        rich_help_panel=TALK,
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")]


def one_format(form: Format, *, json: bool) -> Format:
    """Return the format that is asked for: `--json` is short for `--format json`."""
    if json and form not in (Format.TABLE, Format.JSON):
        raise UsageError(f"--json is --format json; leave --format {form.value} out")
    return Format.JSON if json else form


@dataclass(frozen=True)
class Talk:
    """What is printed and where."""

    format: ReportFormat = Format.TABLE
    json: Json = False
    fail_under: FailUnder = None
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show every attempt.", rich_help_panel=TALK)] = (
        False
    )
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Show only the score, warnings and errors.", rich_help_panel=TALK),
    ] = False
    log_file: Annotated[
        Path | None, typer.Option(help="Also write events with times to this file.", rich_help_panel=TALK)
    ] = None

    def __post_init__(self) -> None:
        """Raise `UsageError` for options that contradict each other."""
        one_format(self.format, json=self.json)
        if self.quiet and self.verbose:
            raise UsageError("--quiet and --verbose contradict each other; leave one out")

    @property
    def report_format(self) -> Format:
        """The report's format."""
        return one_format(self.format, json=self.json)


Examples = Sequence[tuple[str, str]]
"""What somebody wants, and the command line for it: shown in the help, parsed by a test."""


_WORDS = {"str": "TEXT", "int": "NUMBER", "int range": "NUMBER", "float": "NUMBER", "float range": "NUMBER"}


def kind_of_value(parameter: Any, ctx: typer.Context) -> str:
    """Return what help calls the value of an option, such as TEXT or `spot|full`; typer shows Python's types."""
    if parameter.param_type_name == "argument" or parameter.is_flag:
        return ""
    kind = str(parameter.metavar or parameter.display_type(ctx)).strip("<>")
    kind = kind.removeprefix("list[").removesuffix("]")
    return _WORDS.get(kind, kind.upper() if kind.lower() == "path" else kind)


class StrictParameter:
    """An option or argument whose kind of value help tells in words, and which converts only what is given."""

    def display_type_rich(self, ctx: typer.Context) -> str:
        """Return what help calls the value."""
        return kind_of_value(self, ctx)

    def process_value(self, ctx: typer.Context, value: Any) -> Any:
        """Convert *value* if there is one: typer makes a checker for each of forty options, which takes 20 ms."""
        me: Any = self
        if value is None and not me.required and me.callback is None:
            return () if me.multiple or me.nargs == -1 else None
        return super().process_value(ctx, value)  # type: ignore[misc]  # of typer's class


class StrictOption(StrictParameter, TyperOption):  # type: ignore[misc]  # typer's context is one of its own
    """An option."""


class StrictArgument(StrictParameter, TyperArgument):  # type: ignore[misc]  # so is the one of arguments
    """An argument."""


def _strict(parameter: Any) -> Any:
    """Return *parameter* as one of our class: a class for commands is all that typer can be given."""
    kind: Any = StrictArgument if isinstance(parameter, TyperArgument) else StrictOption
    made = kind.__new__(kind)
    vars(made).update(vars(parameter))
    return made


class StrictCommand(TyperCommand):
    """A command that rejects empty values and repeated single-value options."""

    example: str
    """A line that works, for refusals: the first of the command's examples."""

    def __init__(self, *given: Any, params: Sequence[Any], **named: Any) -> None:
        super().__init__(*given, params=[_strict(one) for one in params], **named)

    def get_help_option(self, ctx: typer.Context) -> Any:  # type: ignore[override] # typer's own
        """Return `--help`, always the same object: what was written is compared with it."""
        found = super().get_help_option(ctx)
        if found is not None and not isinstance(found, StrictOption):
            self._help_option = found = _strict(found)
        return found

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override] # typer's own
        """Look at what was written before it is converted; then an empty path would be the current folder."""
        _refuse_gone(args)
        args = _in_the_known_number(args, {option for one in self.params for option in one.opts})
        values: Mapping[str, object] = {}
        if args:
            values, _, order = self.make_parser(ctx).parse_args(args=list(args))
            for parameter in dict.fromkeys(order):
                _check_written(parameter, values.get(parameter.name or ""), order.count(parameter))
        known: Any  # typer has a subclass of its own, and takes no other
        try:
            left = super().parse_args(ctx, args)
        except typer.BadParameter as error:
            known = error.param
            is_nan = known is not None and str(values.get(known.name)).lower() == "nan"  # less and more than none
            error.message = _NOT_FINITE if is_nan else _plain(error)
            raise
        for known in self.params:
            value = ctx.params.get(known.name or "")
            if isinstance(value, float) and not math.isfinite(value):
                raise typer.BadParameter(_NOT_FINITE, ctx=ctx, param=known)
        return left


def _refuse_gone(args: Sequence[str]) -> None:
    """Raise `UsageError` for an option, or a value of one, that only earlier versions have."""
    options = takewhile(lambda one: one != "--", args)
    for one, following in pairwise([*options, ""]):
        name, equals, value = one.partition("=")
        if name.startswith("--"):
            refuse_gone(name[2:].replace("-", "_"), value if equals else following)


class AbsentCommand(TyperCommand):
    """A command or a group whose extension package is not here: its help says so, whatever is asked of it."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override] # typer's own
        """Refuse everything with the one sentence."""
        raise UsageError(self.help or "")


_NOT_FINITE = "must be a finite number"
_NUMBERS = {"--task": "--tasks", "--tasks": "--task"}


def _in_the_known_number(args: list[str], known: Collection[str]) -> list[str]:
    """Return *args* with `--tasks` for `--task`, or the other way round, where the command has only that one."""
    written = []
    for one in args:
        name, equals, value = one.partition("=")
        other = _NUMBERS.get(name)
        written.append(f"{other}{equals}{value}" if other in known and name not in known else one)
    return written


def _plain(error: typer.BadParameter) -> str:
    """Return what is wrong with a value in this program's words: newer versions of typer repeat pydantic's."""
    from pydantic import ValidationError

    from groundup.domain.records import plainly

    if not isinstance(error.__cause__, ValidationError):
        return error.message
    first = error.__cause__.errors()[0]
    if first["type"] == "value_error":
        return error.message.removeprefix("Value error, ")
    return plainly(first)


def _check_written(parameter: Any, value: object, times: int) -> None:
    name = max(parameter.opts, key=len) if parameter.param_type_name == "option" else parameter.metavar
    if value == "" or (isinstance(value, list | tuple) and "" in value):
        raise UsageError(f"{name} is empty; give it a value or leave it out")
    if times > 1 and isinstance(value, str) and parameter.param_type_name == "option":
        several = "; each is a run of its own, which `groundup compare` puts side by side"
        raise UsageError(
            f"{name} is given {times} times; give it once{several if name == '--predictions' else ''}"
        )


def command(function: Callable[..., int], examples: Examples) -> Callable[..., None]:
    """Return *function* as typer wants it: groups spread into options, its result as the exit code."""
    signature = inspect.signature(function, eval_str=True)
    groups = {
        one.name: (one.annotation, list(_options(one.annotation)))
        for one in signature.parameters.values()
        if is_dataclass(one.annotation) or is_typeddict(one.annotation)
    }

    @functools.wraps(function)
    def run(**given: Any) -> None:
        arguments = {}
        for name, (kind, options) in groups.items():
            values = {option.name: given.pop(option.name) for option in options}
            arguments[name] = _said(values) if is_typeddict(kind) else kind(**values)
        code = function(**given, **arguments)
        if code == INTERRUPTED:  # typer ends with it, too, where ^C broke a command off without a word
            raise SystemExit(code)
        raise typer.Exit(code)

    parameters = []
    for one in signature.parameters.values():
        parameters += groups[one.name][1] if one.name in groups else [_plain_option(one)]
    run.__signature__ = signature.replace(parameters=parameters, return_annotation=None)  # type: ignore[attr-defined]
    run.__annotations__ = {}
    lines = "\n".join(f"{_heading(what)}\n  [bold]{line}[/bold]" for what, line in examples)
    text = re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.cleandoc(function.__doc__ or ""))  # typer keeps line breaks
    run.__doc__ = f"{text}\n\n\b\n{lines}"
    return run


def _plain_option(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter that is no group, as typer wants it: one may be a flag of the API, too."""
    flag = flag_of(parameter.annotation)
    annotation = parameter.annotation if flag is None else _option(parameter.name, parameter.annotation)
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=annotation)


def _heading(what: str) -> str:
    """Return what an example is for as a heading: a question has its mark already."""
    return what if what.endswith("?") else f"{what}:"


def _said(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that the command line names: others are None, False or an empty list."""
    return {name: value for name, value in values.items() if value not in (None, []) and value is not False}


def _options(kind: Any) -> Iterator[inspect.Parameter]:
    """Yield the options of a group."""
    hints = get_type_hints(kind, include_extras=True)
    if is_typeddict(kind):
        for name, hint in hints.items():
            value = False if hint.__origin__ is bool else None
            yield inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=value, annotation=_option(name, hint)
            )
        return
    for field in fields(kind):
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        option = inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, annotation=hints[field.name])
        yield _plain_option(option.replace(default=default))


def time_option(given: object, *, unit: str = "s", least: float = 0.0, with_unit: bool = False) -> float:
    """Return a time such as `10m`, or a number of *unit*, in this unit. Raises `typer.BadParameter`.

    *with_unit*: a number alone is refused.
    """
    from groundup.domain.durations import duration

    written = str(given).strip()
    if with_unit and written.replace(".", "", 1).isdecimal() and float(written):
        raise typer.BadParameter(f"{written} of what? Write {written}h, {written}m or {written}s")
    try:
        found = duration(str(given), unit) / duration("1", unit)
    except UsageError as error:
        raise typer.BadParameter(str(error)) from error
    if found < least:
        raise typer.BadParameter(f"must be at least {least:g}{unit}")
    return found


_WRITTEN = {
    Time: float | None,
    Names: list[str] | None,
    Assignments: list[str] | None,
    AnyPath | None: Path | None,
}
"""What a command line holds for types that are wider in Python."""


def _option(name: str, hint: Any) -> Any:
    """Return a flag of the API as an option."""
    flag = flag_of(hint)
    assert flag is not None, name
    short = () if flag.short is None else (flag.short,)
    written = _WRITTEN.get(hint.__origin__, hint.__origin__)
    of_time = (
        functools.partial(time_option, least=flag.least or 0.0, with_unit=flag.with_unit)
        if is_time(hint)
        else None
    )
    option = typer.Option(
        f"--{name.replace('_', '-')}",
        *short,
        parser=of_time,
        help=flag.help,
        min=None if of_time else flag.least,
        max=flag.most,
        metavar=flag.metavar,
        rich_help_panel=flag.panel,
    )
    return Annotated[written, option]


class Member(NamedTuple):
    """A command or a group of commands, before it is built."""

    about: Callable[[], str]
    """Returns what it does; the first paragraph is shown."""
    build: Callable[[], Any]
    is_absent: bool = False
    """Whether the extension package with it is not here; help then leaves it out."""

    @property
    def summary(self) -> str:
        """What the list of commands says of it."""
        return " ".join(inspect.cleandoc(self.about()).split("\n\n")[0].split())


class CommandPanel(TyperGroup):
    """Commands, listed under the jobs that they do."""

    members: Mapping[str, Member]
    jobs: Mapping[str, tuple[str, ...]]
    gathered: frozenset[str]
    """Members that a group among them has, too, whose help lists them."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]  # typer's own
        """Show the help where no command is given."""
        if not args and not ctx.resilient_parsing:
            typer.echo(ctx.get_help())
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # typer's own
        """Return the names in the order of the help, then the others, which shells complete, too."""
        listed = [name for names in self.jobs.values() for name in names]
        others = (name for name, one in self.members.items() if name not in listed and not one.is_absent)
        return [*listed, *others]

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override]  # typer's own
        """Return a command, built when it is asked for."""
        if cmd_name in self.members and cmd_name not in self.commands:
            self.commands[cmd_name] = self.members[cmd_name].build()
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]  # typer's own
        """Return the command that *args* begin with. Raises `UsageError` with what it is called here."""
        if args and args[0] not in self.members and not args[0].startswith("-"):
            from groundup.cli.refusals import unknown_command

            known = [name for name, one in self.members.items() if not one.is_absent]
            raise UsageError(unknown_command(ctx.command_path, args[0], known))
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]  # typer's own
        """Write the help as click does, without rich."""
        super(TyperGroup, self).format_help(ctx, formatter)

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]  # typer's own
        """Write a section for each job."""
        widest = max(map(len, self.members))
        listed = {name for names in self.jobs.values() for name in names}
        is_screen = bool(self.members.keys() - listed - self.gathered)
        for job, names in self.jobs.items():
            with formatter.section(job):
                told = [(name, self.members[name].summary) for name in names]
                if is_screen and job != GROUPS_OF_COMMANDS:  # a group's line names its commands
                    told = [(name, _in_a_line(words)) for name, words in told]
                formatter.write_dl([(name.ljust(widest), words) for name, words in told])
        if others := self.members.keys() - listed - self.gathered:
            with formatter.section("More, which `groundup help all` describes"):
                formatter.write_text(", ".join(sorted(others)))


GROUPS_OF_COMMANDS = "Groups"
"""The section of help that lists groups."""


def _in_a_line(summary: str) -> str:
    """Return the first clause of what a command does."""
    return re.split(r"[:,;] | \(", summary, maxsplit=1)[0].rstrip(".") + "."


def group(
    app: typer.Typer,
    members: Mapping[str, Member],
    jobs: Mapping[str, tuple[str, ...]],
    gathered: Collection[str] = frozenset(),
) -> CommandPanel:
    """Return *app* with *members*; its class must be `CommandPanel`."""
    made: Any = typer.main.get_command(app) if app.registered_callback else typer.main.get_group(app)
    made.members, made.jobs, made.gathered = members, jobs, frozenset(gathered)
    return made  # type: ignore[no-any-return]  # what typer makes of the class
