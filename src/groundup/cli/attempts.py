"""`groundup show`: one attempt, and what its agent did."""

import json as json_module
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from groundup.api.flags import Output
from groundup.cli.console import UNFIT
from groundup.cli.options import Examples, Json, Run

if TYPE_CHECKING:
    from groundup.domain.subjects import AttemptKey
    from groundup.store.attempts import AttemptFolder
    from groundup.store.folder import RunFolder
    from groundup.store.records import VerdictLine

EXAMPLES: dict[str, Examples] = {
    "show": (
        ("What did it do?", "groundup show my-run sqlparse"),
        ("The third attempt, with nothing left out", "groundup show my-run sqlparse/2 --full"),
        ("What did its tests print, in each try?", "groundup show my-run sqlparse --logs"),
    ),
}

_LINES = 12


def show(
    run: Run,
    task: Annotated[
        str | None,
        typer.Argument(metavar="TASK", help="A task of the run, or TASK/ATTEMPT; list attempts without."),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Shorten nothing.")] = False,
    logs: Annotated[bool, typer.Option("--logs", help="The logs of each try instead.")] = False,
    json: Json = False,
    output: Output = None,
) -> int:
    """Print the trajectory of an attempt of RUN: the prompts, replies and actions, and how it ended.

    Without TASK, list the attempts.
    """
    from groundup.api.folders import run_folder
    from groundup.cli.console import print_document, say
    from groundup.settings import load
    from groundup.store.attempts import read_trajectory
    from groundup.store.folder import RunFolder

    settings = load({"output": output})
    folder = RunFolder(run_folder(run, settings))
    if task is None:
        return _list_attempts(folder, json=json)
    key = planned_key(folder, task)
    attempt = folder.attempt(key)
    if logs:
        _print_logs(attempt, full=full)
        return 0
    steps = [dict(step) for step in read_trajectory(attempt.trajectory_file)]
    if json:
        record = attempt.record()
        print_document(
            {
                "attempt": str(key),
                "submission": None if record is None else record.model_dump(mode="json"),
                "steps": steps,
            }
        )
        return 0
    if not steps:
        more = "; --logs shows what was printed when it was graded" if attempt.logs.is_dir() else ""
        say(f"groundup: {key} has no trajectory: no agent worked on it in this run{more}")
    for step in steps:
        _print_step(step, full=full)
    records = folder.records()
    if key in records.bad:
        say(f"groundup: {key} has no score, for the records of its run do not fit: {records.bad[key]}")
        return UNFIT
    _print_end(attempt, records.lines.get(key))
    return 0


def _list_attempts(folder: "RunFolder", *, json: bool) -> int:
    """Print each attempt of a run: what it got, how its agent ended, and what that took."""
    from groundup.cli.console import print_document, print_table, say
    from groundup.domain.names import count

    records, keys = folder.records(), folder.config().planned.keys
    lines = {key: None if key in records.bad else records.lines.get(key) for key in sorted(keys, key=str)}
    if json:
        found = {str(key): line and line.model_dump(mode="json") for key, line in lines.items()}
        print_document({"attempts": [{"attempt": key, "line": line} for key, line in found.items()]})
    else:
        columns = ("attempt", "score", "ended", "turns", "tokens")
        rows = [(str(key), *_row(line)) for key, line in lines.items()]
        print_table(f"{folder.path.name}: {count(len(rows), 'attempt')}", columns, rows)
        name = folder.path.name
        say(f"groundup: `groundup show {name} TASK` shows what one did, `groundup why {name}` what all lost")
    if unfit := records.told(folder.path):
        say(f"groundup: {unfit}")
    return UNFIT if unfit else 0


def _row(line: "VerdictLine | None") -> tuple[str, str, str, str]:
    from groundup.domain.verdicts import got

    effort = None if line is None else line.effort
    return (
        got(None if line is None else line.verdict, is_pending=line is None),
        "-" if line is None else line.outcome.value,
        "-" if effort is None else str(effort.turns),
        "-" if effort is None else f"{effort.usage.input_tokens + effort.usage.output_tokens:,}",
    )


def planned_key(folder: "RunFolder", task: str) -> "AttemptKey":
    """Return the attempt that *task* names. Raises `UsageError` for one that the run does not have."""
    from groundup.domain.errors import UsageError
    from groundup.domain.names import unknown

    key = attempt_key(task)
    planned = folder.config().planned
    if not planned.holds(key):
        raise UsageError(unknown("attempt", str(key), map(str, planned.keys)))
    return key


def _print_logs(attempt: "AttemptFolder", *, full: bool) -> None:
    """Print the logs of an attempt, the try that counts last."""
    from groundup.domain.errors import UsageError
    from groundup.runs import evidence

    tries = evidence.by_try(evidence.logs(attempt))
    if not tries:
        raise UsageError(f"{attempt.path} has no logs")
    for heading, names in tries:
        for name in names:
            print_heading(f"{heading}: {name.path}, {name.bytes} bytes", {}, "bold")
            start = 0
            while (piece := evidence.log_piece(attempt, name.path, start)) and piece.text:
                print_text(piece.text, full=full)
                start = piece.end if full else piece.total


def _print_step(step: Mapping[str, object], *, full: bool) -> None:
    from groundup.agents.history import changes_of

    kind = str(step.get("kind"))
    match kind:
        case "began":
            print_heading(
                f"{step.get('agent')} {step.get('version')}, model {step.get('model') or 'none'}", step, "bold"
            )
        case "message":
            print_heading(f"{step.get('role')}", step, "bold blue")
            print_text(str(step.get("content", "")), full=full)
        case "reply":
            _print_reply(step, full=full)
        case "result":
            print_heading(
                f"turn {step.get('turn')}: {step.get('name')} did, in {step.get('seconds')} s", step, "bold cyan"
            )
            print_text(str(step.get("content", "")), full=full)
        case "workspace" if (changes := changes_of(step)) is not None:  # type: ignore[arg-type] # what JSON gave
            print_heading(f"turn {changes.turn}: files", step, "bold cyan")
            print_text("\n".join(f"{one.what} {one.path}" for one in changes.files), full=full)
        case "ended":
            detail = f": {step['detail']}" if step.get("detail") else ""
            print_heading(f"ended: {step.get('outcome')}{detail}", step, "bold")
        case _:
            print_heading(kind, step, "bold yellow")
            fields = {name: value for name, value in step.items() if name not in ("kind", "at")}
            print_text(json_module.dumps(fields, ensure_ascii=False, indent=1), full=full)


def _print_reply(step: Mapping[str, object], *, full: bool) -> None:
    from groundup.agents.trajectories import call_text, reply_of

    reply = reply_of(step)  # type: ignore[arg-type] # what JSON gave
    if reply is None:
        return
    cached = ", from the response cache" if reply.cached else ""
    numbers = f"{reply.usage.told(reply.cost_usd)}, {reply.latency_s:.1f} s{cached}"
    print_heading(f"turn {step.get('turn')}: the model, {numbers}", step, "bold green")
    if reply.message.reasoning:
        print_text(reply.message.reasoning, full=full, style="dim italic")
    print_text(reply.message.content, full=full)
    for call in reply.message.tool_calls:
        print_text(f"{call.name}: {call_text(call.arguments)}", full=full, style="magenta")


def _print_end(attempt: "AttemptFolder", line: "VerdictLine | None") -> None:
    from groundup.cli.console import say
    from groundup.domain.names import count

    record = attempt.record()
    if record is None:
        say("groundup: nothing was handed in yet")
        return
    effort = record.effort
    took = f", {count(effort.turns, 'turn')}, {effort.usage.told(effort.cost_usd)}" if effort else ""
    say(f"groundup: handed in {count(record.files, 'file')}, {count(record.bytes, 'byte')}{took}")
    verdict = None if line is None else line.verdict
    if verdict is not None and verdict.score is not None:
        why = "".join(f": {reason.message}" for reason in verdict.reasons[:1])
        say(f"groundup: {verdict.status.value} {verdict.score.fraction}{why}")


def print_heading(text: str, step: Mapping[str, object], style: str) -> None:
    """Print a line that begins something, with the time of *step*."""
    from rich.text import Text

    from groundup.cli.console import tables
    from groundup.domain.names import printable

    at = str(step.get("at", ""))[11:19]
    tables().print(Text(f"\n── {at} {printable(text)}", style=style))


def print_text(text: str, *, full: bool, style: str = "") -> None:
    """Print lines of a stranger: without their control characters, and not too many of them."""
    from rich.text import Text

    from groundup.cli.console import tables
    from groundup.domain.names import printable

    if not text.strip():
        return
    lines = [printable(line.expandtabs(4)) for line in text.splitlines()]
    if not full and len(lines) > 2 * _LINES + 1:
        lines = [
            *lines[:_LINES],
            f"[... {len(lines) - 2 * _LINES} lines; --full shows them ...]",
            *lines[-_LINES:],
        ]
    tables().print(Text("\n".join(lines), style=style), soft_wrap=True)


def attempt_key(text: str) -> "AttemptKey":
    """Read TASK or TASK/NUMBER. Raises `UsageError`."""
    from groundup.domain.errors import UsageError
    from groundup.domain.subjects import AttemptKey

    task, _, index = text.partition("/")
    try:
        return AttemptKey(task=task, index=int(index or 0))
    except ValueError as error:  # of the number, and of a name that no task can have
        raise UsageError(f"{text!r} is no attempt; write TASK or TASK/NUMBER, such as sqlparse/0") from error
