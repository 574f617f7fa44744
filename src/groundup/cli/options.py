"""The options that commands share, each declared once, in groups that travel as one record.

A command takes a group as one parameter; `command` turns its fields into options. Defaults that a user can set for
all commands are None here: `groundup.settings` owns them.
"""

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

WHICH = "Which tasks"
HOW = "How it is graded"
WORK = "How it is worked on"
STATIC = "static"
"""The grader that suites name so reads submissions and runs nothing."""
TALK = "What is told"
MODEL = "The model"
EPISODE = "The attempts"


class Format(StrEnum):
    """What a report is printed as."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"


Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.", rich_help_panel=TALK)]
Suite = Annotated[
    str,
    typer.Argument(metavar="SUITE", help="A suite's name (see `groundup suites`) or `package.module:attribute`."),
]
Run = Annotated[str, typer.Argument(metavar="RUN", help="A run's folder, or its id in the output folder.")]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="Folder of run folders (setting: output, default: runs).", rich_help_panel=WORK
    ),
]
Sandbox = Annotated[
    str | None,
    typer.Option(help="bubblewrap, none or fake (setting: sandbox, default: bubblewrap).", rich_help_panel=HOW),
]
Trust = Annotated[
    bool,
    typer.Option(
        "--i-trust-this-code", help="With --sandbox none: let it run with all your rights.", rich_help_panel=HOW
    ),
]
ReportFormat = Annotated[
    Format, typer.Option("--format", help="The report on standard output.", rich_help_panel=TALK)
]
FailUnder = Annotated[
    float | None,
    typer.Option(min=0, max=1, help="Exit with 4 when the mean score is below this share.", rich_help_panel=TALK),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]


RunId = Annotated[
    str | None,
    typer.Option("--run-id", help="Name of the run's folder (default: made up).", rich_help_panel=WORK),
]


@dataclass(frozen=True)
class Selection:
    """Which tasks, and how often."""

    tasks: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Only these tasks or groups of them, such as `sqlparse,tenacity`; can be repeated.",
            rich_help_panel=WHICH,
        ),
    ] = None
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="All but these; can be repeated.", rich_help_panel=WHICH),
    ] = None
    lang: Annotated[
        str | None,
        typer.Option(help="Only those in this language, where a suite has several.", rich_help_panel=WHICH),
    ] = None
    attempts: Annotated[
        int | None,
        typer.Option(
            "--attempts", "-k", min=1, help="Attempts per task (default: all there are).", rich_help_panel=WHICH
        ),
    ] = None

    limit: Annotated[
        int | None,
        typer.Option(
            min=1, help="Only so many of them: a sample, always the same for a --seed.", rich_help_panel=WHICH
        ),
    ] = None
    seed: Annotated[int, typer.Option(help="Which sample --limit takes.", rich_help_panel=WHICH)] = 0

    def excluded(self) -> tuple[str, ...] | None:
        """Return the tasks and groups that are left out; None when the user names none."""
        others = () if self.lang is None else (f"!{self.lang}",)
        return (*(names(self.exclude, "--exclude") or ()), *others) or None


@dataclass(frozen=True)
class Judging:
    """What decides verdicts besides the submission."""

    grader: Annotated[
        str | None, typer.Option(help="A grader of the suite (default: the suite's).", rich_help_panel=HOW)
    ] = None
    no_exec: Annotated[
        bool,
        typer.Option(
            "--no-exec", help="Read submissions and run nothing: the grader `static`.", rich_help_panel=HOW
        ),
    ] = False
    timeout: Annotated[
        float | None,
        typer.Option(min=0.1, help="Seconds for a task's tests, instead of its recipe's.", rich_help_panel=HOW),
    ] = None
    sandbox: Sandbox = None

    def grader_name(self) -> str | None:
        """Return the grader that the user names; None for the suite's own choice. Raises `UsageError`."""
        from groundup.domain.errors import UsageError

        if self.no_exec and self.grader not in (None, STATIC):
            raise UsageError(f"--no-exec means the grader {STATIC}; leave --grader {self.grader} out")
        return STATIC if self.no_exec else self.grader


@dataclass(frozen=True)
class Work:
    """How a run is worked on; changes no verdict."""

    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            help="Attempts at once (setting: jobs, default: processors).",
            rich_help_panel=WORK,
        ),
    ] = None
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Look no verdict up, grade everything.", rich_help_panel=WORK)
    ] = False
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the graders' scratch folders.", rich_help_panel=WORK)
    ] = False
    output: Output = None
    trusted: Trust = False


@dataclass(frozen=True)
class Subjects:
    """Who does which suite's tasks, with which model, in which way; or a file that says so."""

    suite: Annotated[
        str | None,
        typer.Argument(
            metavar="SUITE", help="A suite's name (see `groundup suites`) or `package.module:attribute`."
        ),
    ] = None
    agent: Annotated[
        str,
        typer.Option(
            "--agent",
            "-a",
            help="loop (bash and submit), oneshot, cli and others (docs/agents.md), oracle (the reference), nop "
            "(nothing), or one that the suite offers (dibench: static).",
        ),
    ] = ""
    config: Annotated[Path | None, typer.Option(help="A file of runs, instead of suite and agent.")] = None
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="PROVIDER/MODEL; its key comes from the environment.")
    ] = None
    base_url: Annotated[
        str | None, typer.Option(help="The model's endpoint (default: its provider's).", rich_help_panel=MODEL)
    ] = None
    temperature: Annotated[
        float | None, typer.Option(min=0, help="Default: the agent's, else the endpoint's.", rich_help_panel=MODEL)
    ] = None
    max_output_tokens: Annotated[int | None, typer.Option(min=1, help="Of one reply.", rich_help_panel=MODEL)] = (
        None
    )
    context_tokens: Annotated[
        int | None, typer.Option(min=1, help="The model's window, if it is known.", rich_help_panel=MODEL)
    ] = None
    model_option: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=VALUE: a further setting of the model, such as timeout_s=1200 (docs/models.md).",
            rich_help_panel=MODEL,
        ),
    ] = None
    agent_option: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE: a setting of the agent (docs/agents.md).", rich_help_panel=EPISODE),
    ] = None
    max_turns: Annotated[
        int | None, typer.Option(min=1, help="Replies in one attempt.", rich_help_panel=EPISODE)
    ] = None
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Input and output of one attempt.", rich_help_panel=EPISODE)
    ] = None
    max_attempt_cost: Annotated[
        float | None, typer.Option(help="USD for one attempt.", rich_help_panel=EPISODE)
    ] = None
    max_seconds: Annotated[
        float | None, typer.Option(min=1, help="Wall clock of one attempt.", rich_help_panel=EPISODE)
    ] = None
    hide_scores: Annotated[
        bool, typer.Option("--hide-scores", help="`submit` tells no score.", rich_help_panel=EPISODE)
    ] = False
    end_at_submit: Annotated[
        bool, typer.Option("--end-at-submit", help="The first `submit` ends the attempt.", rich_help_panel=EPISODE)
    ] = False


@dataclass(frozen=True)
class Making:
    """How submissions are made; changes none of them."""

    generate_only: Annotated[
        bool,
        typer.Option(
            "--generate-only", help="Make submissions and grade none; `resume` grades.", rich_help_panel=WORK
        ),
    ] = False
    agent_jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Attempts at making submissions at once (setting: agent_jobs, default: --jobs).",
            rich_help_panel=WORK,
        ),
    ] = None
    max_cost: Annotated[
        float | None,
        typer.Option(help="USD for the whole run, earlier starts included; needs prices.", rich_help_panel=WORK),
    ] = None
    prices: Annotated[Path | None, typer.Option(help="Price file (docs/models.md).", rich_help_panel=MODEL)] = None
    price: Annotated[
        str | None, typer.Option(help="USD per million tokens, INPUT:OUTPUT.", rich_help_panel=MODEL)
    ] = None
    model_jobs: Annotated[
        int | None, typer.Option(min=1, help="Calls to the model at once (default: 64).", rich_help_panel=MODEL)
    ] = None
    reuse_replies: Annotated[
        bool,
        typer.Option("--reuse-replies", help="Look replies up in the response cache.", rich_help_panel=MODEL),
    ] = False


@dataclass(frozen=True)
class Talk:
    """What is printed and where."""

    format: ReportFormat = Format.TABLE
    json: Json = False
    fail_under: FailUnder = None
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Tell of every attempt.", rich_help_panel=TALK)
    ] = False
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Tell the score, warnings and errors alone.", rich_help_panel=TALK),
    ] = False
    log_file: Annotated[
        Path | None, typer.Option(help="Also write what happens here, with times.", rich_help_panel=TALK)
    ] = None

    @property
    def report_format(self) -> Format:
        """The report's format: `--json` is short for `--format json`."""
        return Format.JSON if self.json else self.format


def names(given: Sequence[str] | None, flag: str) -> tuple[str, ...] | None:
    """Return the names in `a,b`, all times that *flag* was given together; None when it was not.

    Raises `UsageError` when it was given and names nothing.
    """
    from groundup.domain.errors import UsageError

    if not given:
        return None
    found = dict.fromkeys(name for text in given for part in text.split(",") if (name := part.strip()))
    if not found:
        raise UsageError(f"{flag} names nothing; name something or leave it out")
    return tuple(found)


@dataclass(frozen=True)
class Beginning:
    """How a new run begins."""

    run_id: RunId = None
    dry_run: DryRun = False


Examples = Sequence[tuple[str, str]]
"""What somebody wants, and the command line for it: shown in the help, parsed by a test."""


class StrictCommand(TyperCommand):
    """A command that takes no empty value, and that tells when an option given twice means its last value."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override] # typer's own
        """Look at what was written before it is converted; then an empty path would be the current folder."""
        if args:
            values, _, order = self.make_parser(ctx).parse_args(args=list(args))
            for parameter in dict.fromkeys(order):
                _check_written(parameter, values.get(parameter.name or ""), order.count(parameter))
        return super().parse_args(ctx, args)


def _check_written(parameter: Any, value: object, times: int) -> None:
    from groundup.cli.console import say
    from groundup.domain.errors import UsageError

    name = max(parameter.opts, key=len) if parameter.param_type_name == "option" else parameter.metavar
    if value == "" or (isinstance(value, list | tuple) and "" in value):
        raise UsageError(f"{name} is empty; give it a value or leave it out")
    if times > 1 and isinstance(value, str) and parameter.param_type_name == "option":
        say(f"groundup: {name} is given {times} times; the last one counts, {value}")


def command(function: Callable[..., int], examples: Examples) -> Callable[..., None]:
    """Return *function* as typer wants it: groups spread into options, its result as the exit code."""
    signature = inspect.signature(function, eval_str=True)
    spread = dict(_groups(signature))

    @functools.wraps(function)
    def run(**given: Any) -> None:
        arguments = {
            name: spread[name](**{field.name: given.pop(field.name) for field in fields(spread[name])})
            for name in spread
        }
        raise typer.Exit(function(**given, **arguments))

    parameters = list(_parameters(signature, spread))
    run.__signature__ = signature.replace(parameters=parameters, return_annotation=None)  # type: ignore[attr-defined]
    run.__annotations__ = {}
    lines = "\n".join(f"{what}:\n  [bold]{line}[/bold]" for what, line in examples)
    run.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\n\b\n{lines}"
    return run


def _groups(signature: inspect.Signature) -> Iterator[tuple[str, Any]]:
    for parameter in signature.parameters.values():
        if is_dataclass(parameter.annotation):
            yield parameter.name, parameter.annotation


def _parameters(signature: inspect.Signature, spread: dict[str, Any]) -> Iterator[inspect.Parameter]:
    for parameter in signature.parameters.values():
        if parameter.name not in spread:
            yield parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            continue
        hints = get_type_hints(spread[parameter.name], include_extras=True)
        for field in fields(spread[parameter.name]):
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            yield inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[field.name]
            )
