"""What the parser of the command line refuses, in one sentence with an example.

Also the names that Harbor, Inspect, SWE-bench, pytest and others have for what is called otherwise here.
"""

import difflib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

PROGRAM = "groundup"

OPTIONS_ELSEWHERE: Mapping[str, tuple[str, ...]] = {
    "-n": ("--jobs", "--runs"),
    "--n-concurrent": ("--jobs",),
    "--max-workers": ("--jobs",),
    "--concurrency": ("--jobs",),
    "--parallel": ("--jobs",),
    "--num-workers": ("--jobs",),
    "--threads": ("--jobs",),
    "--max-samples": ("--jobs",),
    "--max-concurrent": ("--jobs",),
    "--max-connections": ("--model-jobs",),
    "--epochs": ("--attempts", "--times"),
    "--trials": ("--attempts", "--times"),
    "--n-attempts": ("--attempts", "--times"),
    "--num-samples": ("--attempts", "--times"),
    "--time-limit": ("--max-seconds",),
    "--working-limit": ("--max-seconds",),
    "--message-limit": ("--max-turns",),
    "--token-limit": ("--max-tokens",),
    "--cost-limit": ("--max-attempt-cost",),
    "--timeout": ("--max-seconds",),
    "--agent-import-path": ("--agent",),
    "--solver": ("--agent",),
    "--model-base-url": ("--base-url",),
    "--api-base": ("--base-url",),
    "--api-key": ("--base-url", "--model"),
    "--split": ("--tasks",),
    "--subset": ("--tasks",),
    "--from": ("--predictions",),
    "--input": ("--predictions",),
    "--predictions-path": ("--predictions",),
    "--instance-ids": ("--tasks",),
    "--sample-id": ("--tasks",),
    "--task-name": ("--tasks",),
    "--include-task-name": ("--tasks",),
    "--exclude-task-name": ("--exclude",),
    "--lf": ("--tasks",),
    "--last-failed": ("--tasks",),
    "--n-tasks": ("--limit",),
    "--language": ("--lang",),
    "--lang": ("--language",),
    "--job-name": ("--run-id",),
    "--jobs-dir": ("--output",),
    "--log-dir": ("--output",),
    "--output-dir": ("--output", "--to"),
    "--out": ("--output", "--to"),
    "--output": ("--to",),  # of earlier versions, for one release
    "--to": ("--output",),
    "--env": ("--sandbox",),
    "--environment": ("--sandbox",),
    "--scorer": ("--grader",),
    "--verifier": ("--grader",),
    "--agent": ("--agent-name",),
    "--agent-name": ("--agent",),
    "--model": ("--model-name",),
    "--model-name": ("--model",),
    "-a": ("--agent-name",),
    "-m": ("--model-name",),
    "--all": ("--full", "--optional"),
}
"""An option of other programs, and what it is here: the first that the command has."""

SUITE_ELSEWHERE = frozenset({"--dataset", "--dataset-name", "--suite", "--benchmark", "-d"})
"""Options of other programs for what is the argument SUITE here."""

_HOW = {
    "--api-key": "an environment variable, such as OPENAI_API_KEY",
    "--agent-import-path": "--agent, as in `-a package.module:function`",
    "--lf": "--tasks, as in `--tasks failed:RUN`",
    "--last-failed": "--tasks, as in `--tasks failed:RUN`",
}

COMMANDS_ELSEWHERE: Mapping[str, str] = {
    "list": "`groundup suites`, `groundup tasks SUITE`, `groundup agents` and `groundup runs` list",
    "ls": "`groundup suites`, `groundup tasks SUITE`, `groundup agents` and `groundup runs` list",
    "dataset": "it is `groundup suites`",
    "datasets": "it is `groundup suites`",
    "benchmarks": "it is `groundup suites`",
    "eval": "it is `groundup evaluate`",
    "grade": "it is `groundup evaluate`",
    "score": "it is `groundup evaluate`",
    "test": "it is `groundup evaluate`",
    "start": "it is `groundup run`",
    "execute": "it is `groundup run`",
    "bench": "it is `groundup run`",
    "benchmark": "it is `groundup run`",
    "results": "it is `groundup report`",
    "summary": "it is `groundup report`",
    "plot": "it is `groundup view`, or `groundup report --format html`",
    "rerun": "`groundup resume` goes on with a run, `groundup regrade` grades it again",
    "rm": "it is `groundup runs rm`",
    "delete": "it is `groundup runs rm`",
    "stop": "^C ends a run, and `groundup resume` goes on with it",
    "cancel": "^C ends a run, and `groundup resume` goes on with it",
    "login": "keys come from the environment, such as OPENAI_API_KEY",
    "retry": "it is `groundup resume`",
    "eval-retry": "it is `groundup resume`",
    "continue": "it is `groundup resume`",
    "diff": "it is `groundup compare`",
    "log": "it is `groundup show`",
    "logs": "it is `groundup show`",
    "status": "it is `groundup runs`",
    "check": "`groundup doctor` looks at this machine, `groundup audit` at tasks, `groundup runs check` at runs",
    "validate": "it is `groundup curate validate`, or `groundup audit`",
    "download": "it is `groundup data pull`",
    "pull": "it is `groundup data pull`",
    "ui": "it is `groundup view`",
    "web": "it is `groundup view`",
    "config": "it is `groundup init`",
    "settings": "it is `groundup init`",
    "train": "it is `groundup serve`",
    "collect": "it is `groundup report DIR... --layout paper`",
    # of earlier versions, for one release
    "import": "it went into `groundup evaluate SUITE -p FOLDER --agent-name cursor --model-name NAME`",
    "aggregate": "it went into `groundup report DIR... --layout paper`",
    "completion": "it is `groundup --install-completion`",
}
"""A command of other programs, and what does the same here."""

KEPT_BY_A_RUN: Mapping[str, str] = {
    "--grader": "`groundup regrade` takes another",
    "--integrity": "`groundup regrade` takes another",
    "--no-exec": "`groundup regrade` takes another",
    "--timeout": "`groundup regrade` takes another",
    "--sandbox": "`groundup regrade` takes another",
    "--image": "`groundup regrade` takes another",
    "--tasks": "`groundup regrade` takes some of them",
    "--task": "`groundup regrade` takes some of them",
    "--exclude": "`groundup regrade` takes some of them",
    "--lang": "`groundup regrade` takes some of them",
    "--limit": "a new run draws another sample",
    "--seed": "a new run draws another sample",
    "--attempts": "a new run makes more",
    "-k": "a new run makes more",
    "--agent": "a new run takes another",
    "-a": "a new run takes another",
    "--model": "a new run takes another",
    "-m": "a new run takes another",
}
"""What `resume` cannot change, and what does."""


_LONG_DASHES = "\N{EN DASH}\N{EM DASH}\N{MINUS SIGN}"
"""What word processors and web pages make of hyphens."""


def refused(error: Any, given: Sequence[str]) -> str:
    """Return what is wrong with the command line *given*, by the parser's *error*, and what to write instead."""
    context = error.ctx
    if context is None and getattr(error, "option_name", None):
        lacks = "requires" in error.message
        return f"{error.option_name} {'needs a value; give it one' if lacks else 'takes no value; write it alone'}"
    if context is None:
        return _first_small(str(error.format_message()).rstrip("."))
    name = context.command_path
    options = {option for one in context.command.params for option in (*one.opts, *one.secondary_opts)}
    kind = type(error).__name__
    if kind == "NoSuchOption":
        return f"{name} has no option {error.option_name}{_option_instead(error, context, options)}"
    parameter = getattr(error, "param", None)
    if kind == "MissingParameter" and parameter is not None:
        return f"{name} needs {_name_of(parameter)}, such as `{context.command.example}`"
    if parameter is not None:
        return f"{_name_of(parameter)}: {_first_small(error.message.rstrip('.'))}{_meaning(parameter)}"
    if extra := _extra(context, error.message):
        return f"{name} takes no further argument {extra[0]!r}; {_for_extra(given, extra, context, options)}"
    return f"{name}: {_first_small(error.format_message().rstrip('.'))}; `{name} -h` shows what it takes"


def unknown_command(path: str, name: str, known: Collection[str]) -> str:
    """Return a sentence for a command *name* that the group *path* has not."""
    near = difflib.get_close_matches(name, known, n=2, cutoff=0.6)
    elsewhere = COMMANDS_ELSEWHERE.get(name) if path == PROGRAM else None
    if elsewhere:
        return f"{path} has no command {name!r}: {elsewhere}"
    if near:
        return f"{path} has no command {name!r}; did you mean {' or '.join(map(repr, near))}?"
    if path == PROGRAM:
        return f"{path} has no command {name!r}; `{path} --help` lists them"
    return f"{path} has no command {name!r}; choose from: {', '.join(known)}"


def _option_instead(error: Any, context: Any, options: Collection[str]) -> str:
    written = str(error.option_name)
    if context.command_path == f"{PROGRAM} resume" and written in KEPT_BY_A_RUN:
        return f": a run keeps what it was begun with; {KEPT_BY_A_RUN[written]}"
    name = written.replace("_", "-") if written.startswith("--") else written
    if name != written and name in options:
        return f"; it is {name}"
    for ours in OPTIONS_ELSEWHERE.get(name, ()):
        if ours in options:
            short = next((one for one in _spellings(context, ours) if len(one) == 2), None)
            return f": here it is {_HOW.get(name) or (f'{ours} ({short})' if short else ours)}"
    if name in SUITE_ELSEWHERE and any(_name_of(one) == "SUITE" for one in context.command.params):
        return f": the suite stands alone, as in `{context.command.example}`"
    near = difflib.get_close_matches(name, sorted(one for one in options if one.startswith("--")), n=2)
    if near:
        return f"; did you mean {' or '.join(near)}?"
    return f"; `{context.command_path} -h` lists its options"


def _spellings(context: Any, option: str) -> Sequence[str]:
    return next(one.opts for one in context.command.params if option in one.opts)


def _name_of(parameter: Any) -> str:
    if parameter.param_type_name == "option":
        return str(max(parameter.opts, key=len))
    return str(parameter.metavar or parameter.name.upper()).strip("[].")


def _meaning(parameter: Any) -> str:
    help_text = (getattr(parameter, "help", None) or "").partition(" (")[0].partition("; ")[0].rstrip(".")
    return f" ({_first_small(help_text)})" if help_text else ""


def _extra(context: Any, message: str) -> list[str]:
    """Return the words that are too many: the parser names them at the end of its *message*."""
    begin = "Got unexpected extra argument"
    return message.rpartition("(")[2].rstrip(")").split() if message.startswith(begin) else []


def _for_extra(given: Sequence[str], extra: Sequence[str], context: Any, options: Collection[str]) -> str:
    if extra[0][0] in _LONG_DASHES:
        return f"it begins with a long dash, write {extra[0].lstrip(_LONG_DASHES).rjust(len(extra[0]), '-')}"
    before = given[given.index(extra[0]) - 2] if extra[0] in given[2:] else ""
    if before in ("--tasks", "--task", "--exclude"):
        return f"names are separated by commas: {before} {given[given.index(extra[0]) - 1]},{','.join(extra)}"
    if before in ("-p", "--predictions"):
        return "a shell makes several words of a pattern; give the folder that holds them"
    if "--predictions" in options and not {"-p", "--predictions"}.intersection(given):
        return f"predictions are named with -p: `{context.command_path} {given[1]} -p {extra[0]}`"
    return f"such as `{context.command.example}`"


def _first_small(text: str) -> str:
    """Return *text* as it stands within a sentence: names in capitals stay."""
    return text if text[1:2].isupper() else f"{text[:1].lower()}{text[1:]}"
