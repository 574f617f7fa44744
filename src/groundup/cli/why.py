"""`groundup why`: what attempts lost, by cause, and each lost test."""

import itertools
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from groundup.api.flags import Output
from groundup.cli.console import UNFIT
from groundup.cli.lost_tests import Lost, print_every
from groundup.cli.options import Examples, Json, Run

if TYPE_CHECKING:
    from groundup.domain.subjects import AttemptKey
    from groundup.domain.verdicts import Reason, TestResult
    from groundup.store.folder import RunFolder
    from groundup.store.records import VerdictLine

EXAMPLES: dict[str, Examples] = {
    "why": (
        ("What did this run lose, and where?", "groundup why my-run"),
        ("Which tests failed, by cause, with the values that they compared?", "groundup why my-run sqlparse"),
        ("Each of them", "groundup why my-run sqlparse --full"),
        ("One of them", "groundup why my-run sqlparse -t test_split"),
    ),
}

SCREEN = 40
"""Lines that are printed on a terminal without --full."""
_BY_ATTEMPT = 6
"""Lines of one attempt at least, where several lost; with less room each has one line."""


def why(
    run: Run,
    task: Annotated[
        str | None,
        typer.Argument(metavar="[TASK]", help="A task of the run, or TASK/ATTEMPT (default: all that lost)."),
    ] = None,
    test: Annotated[
        str | None, typer.Option("--test", "-t", help="Only tests whose names hold this.", metavar="TEXT")
    ] = None,
    every: Annotated[bool, typer.Option("--full", help="Each lost test, with its whole traceback.")] = False,
    json: Json = False,
    output: Output = None,
) -> int:
    """Print what attempts of RUN lost, by cause: lines of the submission, and one test of each with its values."""
    from groundup.api.folders import run_folder
    from groundup.cli.attempts import print_heading
    from groundup.cli.console import print_document, say, unfinished_words
    from groundup.settings import load
    from groundup.store.folder import RunFolder

    settings = load({"output": output})
    folder = RunFolder(run_folder(run, settings))
    records = folder.records()
    unfit = records.told(folder.path)
    if unfit:
        say(f"groundup: {unfit}")
    meant = {*_meant(folder, task)} - records.bad.keys()
    pending = meant.intersection(folder.config().planned.pending(records.lines))
    unfinished = unfinished_words(len(pending), _again(folder)) if pending else ""
    asked = _asked(folder, records.lines, task, unfinished, fits=not unfit)
    # What passed is of no use where each attempt has a line; of a long run it would take long to read.
    if not asked:
        return UNFIT
    is_short = not json and not every and test is None and len(asked) * _BY_ATTEMPT >= SCREEN
    attempts = []
    for key in asked:
        place, line = folder.attempt(key), records.lines.get(key)
        if key in records.bad:
            attempts.append(Lost(key, line, ()))
        elif is_short:
            attempts.append(Lost(key, line, place.lost_tests()))
        else:
            record = place.record()
            attempts.append(Lost(key, line, place.tests(), record.dropped if record else ()))
    if test is not None:
        attempts = _named(attempts, test)
    if json:
        documents = [_document(one) for one in attempts]
        print_document(documents[0] if len(documents) == 1 else {"attempts": documents})
    elif every or test is not None:
        for one in attempts:
            if len(attempts) > 1:  # what follows names tests, which other tasks have, too
                print_heading(f"{one.key}: {one.score}", {}, "bold")
            print_every(folder, one, test, settings)
    else:
        _print_screen(folder, records.lines, attempts)
    if unfinished:
        say(f"groundup: {unfinished}")
    return UNFIT if unfit else 0


def _meant(folder: "RunFolder", task: str | None) -> "Sequence[AttemptKey]":
    """Return the attempts that *task* names: one, those of a task, or all. Raises `UsageError`."""
    from groundup.cli.attempts import planned_key

    if task is not None and "/" in task:
        return [planned_key(folder, task)]
    keys = folder.config().planned.keys
    if task is None:
        return keys
    named = planned_key(folder, task)
    return [key for key in keys if key.task == named.task]


def _again(folder: "RunFolder") -> str | None:
    """Return the command that finishes the run; None: a server's run, whose episodes end elsewhere."""
    from groundup.store.records import Served

    served = isinstance(folder.config().configuration.submissions, Served)
    return None if served else f"groundup resume {folder.path}"


def _asked(
    folder: "RunFolder",
    lines: "Mapping[AttemptKey, VerdictLine]",
    task: str | None,
    unfinished: str,
    *,
    fits: bool,
) -> "Sequence[AttemptKey]":
    """Return the attempts that *task* names; of several, those that lost points. Raises `UsageError`.

    *unfinished* says how many have no verdict. Where the records do not fit, an attempt that is not among them
    may have lost any number of points.
    """
    from groundup.domain.errors import UsageError

    keys = _meant(folder, task)
    lost = [key for key in keys if key in lines and (verdict := lines[key].verdict) and verdict.reasons]
    if not lost and len(keys) > 1 and task is None and fits:
        graded = len(folder.config().planned.pending(lines)) < len(keys)
        told = "no attempt lost points" if graded else "no attempt has a verdict yet"
        raise UsageError("; ".join(filter(None, (told, unfinished))))
    return lost or (keys[:1] if fits or task is not None else ())


def _named(attempts: Sequence[Lost], test: str) -> list[Lost]:
    """Return *attempts* with the tests alone whose names hold *test*. Raises `UsageError` where there is none."""
    from groundup.domain.errors import UsageError

    found = [one._replace(tests=tuple(known for known in one.tests if test in known.id)) for one in attempts]
    if not any(one.tests for one in found):
        names = [known.id for one in attempts for known in one.tests]
        if not names:
            raise UsageError(
                f"no test of {attempts[0].key} is recorded; leave --test out to see what became of it"
            )
        raise UsageError(f"no name of {len(names)} tests holds {test!r}; they are named such as {names[0]}")
    return [one for one in found if one.tests]


def _document(one: Lost) -> dict[str, object]:
    from groundup.reports.causes import declared_otherwise, grouped, kinds_of

    groups = grouped(one.tests)
    kinds = kinds_of(groups, one.line.verdict if one.line else None)
    return {
        "attempt": str(one.key),
        "ended": one.ended,
        "reasons": _plain(one.reasons),
        "left_out": list(one.left_out),
        "kinds": [kind.model_dump(mode="json") for kind in kinds],
        "causes": [
            {**group.cause.model_dump(mode="json"), "names": [known.id for known in group.tests]}
            for group in groups
        ],
        "lost": _plain(known for known in one.tests if known.lost),
        "otherwise": _plain(known for group in declared_otherwise(one.tests) for known in group.tests),
    }


def _plain(records: "Iterable[Reason | TestResult]") -> list[object]:
    return [one.model_dump(mode="json") for one in records]


def _print_screen(
    folder: "RunFolder", lines: "Mapping[AttemptKey, VerdictLine]", attempts: Sequence[Lost]
) -> None:
    """Print the causes of all *attempts*, those that lost most points first; on a terminal in `SCREEN` lines."""
    from groundup.cli.console import say, tables
    from groundup.cli.lost_tests import all_passed, further
    from groundup.reports.why import UNCUT

    ordered = sorted(attempts, key=lambda one: (one.reward, one.key.task, one.key.index))
    room, width = (SCREEN, tables().width) if sys.stdout.isatty() else (UNCUT, UNCUT)
    if len(ordered) > 1:
        tables().print(_of_run(folder, lines), soft_wrap=True, markup=False)
        room -= 1
    if len(ordered) * _BY_ATTEMPT >= SCREEN:
        _print_lines(folder, ordered, room, width)
        return
    for number, one in enumerate(ordered):
        if number:
            tables().print()
            room -= 1
        room -= _print_causes(one, room // (len(ordered) - number), width)
    if any(known.lost for one in attempts for known in one.tests):
        return
    if any(one.tests for one in attempts):
        say(f"groundup: {all_passed(attempts[0].tests)}")
    else:
        say(f"groundup: no list of tests{further(folder, attempts[0].key)}")


def _of_run(folder: "RunFolder", lines: "Mapping[AttemptKey, VerdictLine]") -> str:
    """Return how good the whole run is, and which tasks of the suite it left out."""
    from groundup.domain.names import printable
    from groundup.reports.answers import short_answer
    from groundup.reports.summary import report_run

    config = folder.config()
    report = report_run(config, lines, (), folder.made(config, lines))
    return printable(f"{folder.path.resolve().name}: {short_answer(report)}")


def _print_lines(folder: "RunFolder", attempts: Sequence[Lost], room: int, width: int) -> None:
    """Print one line for each attempt, as many as there is room for."""
    from groundup.cli.console import tables
    from groundup.domain.names import printable
    from groundup.reports.causes import losses_of
    from groundup.reports.why import losses_words

    console = tables()
    shown = attempts[: room - 1]
    for one in shown:
        losses = losses_of(one.tests, one.reasons)
        words = losses_words(losses) if losses else "; ".join(reason.message for reason in one.reasons)
        line = printable("; ".join(filter(None, [f"{one.key}: {one.score}", one.ended, words])))
        fitting = line if len(line) <= width else f"{line[: width - 1]}…"
        console.print(fitting, markup=False, soft_wrap=True)
    more = f"and {len(attempts) - len(shown)} more; " if attempts[len(shown) :] else ""
    console.print(f"{more}`groundup why {folder.path} TASK` shows one of them", markup=False, soft_wrap=True)


def _print_causes(one: Lost, room: int, width: int) -> int:
    """Print the causes of an attempt in at most *room* lines of *width*; return how many it took."""
    from rich.text import Text

    from groundup.cli.console import tables
    from groundup.domain.names import count, printable
    from groundup.reports.causes import declared_otherwise, grouped, kinds_of, untold
    from groundup.reports.why import kinds_words, lacking_lines, why_lines

    groups = grouped(one.tests)
    console = tables()

    def put(line: str, style: str = "") -> None:
        console.print(Text(printable(line), style=style), soft_wrap=True)

    tests = sum(group.cause.tests for group in groups)
    causes = f" by {count(len(groups), 'cause')}" if len(groups) > 1 else ""
    if any(known.kind == "dependency" for known in one.tests):
        lost = f"{tests} of {count(len(one.tests), 'name')} missing, too many or elsewhere"
    else:
        lost = f"{count(tests, 'test')} lost{causes}"
    put(f"{one.key}: {one.score}{f'; {lost}' if tests else ''}", "bold")
    shown = [*groups, *declared_otherwise(one.tests)]
    reasons = untold(one.reasons, [known for group in shown for known in group.tests])
    told = [one.ended] * bool(one.ended) + [f"{reason.stage.value}: {reason.message}" for reason in reasons]
    told += [f"left out of what was handed in: {'; '.join(one.left_out)}"] * bool(one.left_out)
    for line in told:
        put(f"  {line}")
    taken = 1 + len(told)
    if kinds := kinds_words(kinds_of(groups, one.line.verdict if one.line else None)):
        put(f"  {kinds}")
        taken += 1
    for line in itertools.islice(lacking_lines(one.tests), max(room // 3, 2)):
        put(f"  {line}")
        taken += -(-(len(line) + 2) // width)
    is_apart = False
    for heading, *lines in why_lines(shown, room - taken, width):
        if is_apart or len(lines) > 1:
            put("")
            taken += 1
        put(heading, "bold")
        for line in lines:
            put(line)
        taken += 1 + len(lines)
        is_apart = len(lines) > 1
    return taken
