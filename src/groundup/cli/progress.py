"""A run's events for people: a live line on a terminal, plain lines elsewhere, and a log file."""

import errno
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from groundup.cli.console import say
from groundup.cli.live_steps import AtWork, told_in_silence
from groundup.cli.options import Talk
from groundup.domain.errors import UsageError
from groundup.domain.figures import money, percent
from groundup.domain.names import count, printable
from groundup.domain.steps import heard_by
from groundup.domain.subjects import AttemptKey
from groundup.domain.verdicts import Reason, Status
from groundup.reports.why import common_cause
from groundup.runs.interrupts import leave_lost_terminal
from groundup.runs.progress import (
    AttemptAt,
    AttemptBegan,
    AttemptEnded,
    AttemptMade,
    AttemptSays,
    Event,
    Progress,
    RunBegan,
    RunEnded,
    Standing,
    Warned,
)
from groundup.trees.writer import disk_errors

_WRITING = 60
"""Characters of what a model writes that are shown."""


@contextmanager
def shown_progress(talk: Talk) -> Iterator[Progress]:
    """Yield what takes a run's events."""
    with ExitStack() as stack:
        sinks: list[Progress] = []
        live: Progress | None = None
        work = AtWork()
        stack.enter_context(heard_by(work.prepare))
        if talk.log_file is not None:
            sinks.append(stack.enter_context(_log(talk.log_file)))
        if talk.quiet:
            sinks.append(_troubles(say))
        elif sys.stderr.isatty():
            live = stack.enter_context(_live(work, verbose=talk.verbose))
            sinks.append(live)
        else:
            sinks.append(_plain(stack.enter_context(told_in_silence(work, say)), verbose=talk.verbose))

        def tell(event: Event) -> None:
            work.hear(event)
            if isinstance(event, AttemptAt):
                return
            for sink in sinks:
                if sink is live or not isinstance(event, AttemptSays):
                    _say_to(sink, event)

        yield tell


def _say_to(sink: Progress, event: Event) -> None:
    """Call *sink*: what a closed terminal cannot show any more must not become a fault of the attempt."""
    try:
        sink(event)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        leave_lost_terminal()


def words(event: Event) -> str:
    """Return an event as one line."""
    match event:
        case RunBegan(run_id=run, standing=now, nothing_for=nothing):
            done = f", {now.settled} of them done before" if now.settled else ""
            lacking = f", {nothing} of them without a prediction, which count 0" if nothing else ""
            return f"run {run}: {count(now.total, 'attempt')}{lacking}{done}"
        case AttemptBegan(attempt=attempt):
            return f"{attempt} began"
        case AttemptAt(attempt=attempt, step=step):
            return f"{attempt}: {step}"
        case AttemptSays(attempt=attempt, text=text):
            return f"{attempt} writes: {text}"
        case AttemptMade():
            return _made(event)
        case AttemptEnded():
            return _ended(event)
        case Warned(message=message):
            return f"warning: {message}"
        case RunEnded(standing=now, interrupted=interrupted):
            return f"{'interrupted' if interrupted else 'ended'}: {standing_words(now.but(left_s=None))}"


def standing_words(now: Standing) -> str:
    """Return how a run goes: done, running, solved, mean, where points are lost, time left."""
    parts = [f"{now.settled}/{now.total} done", f"{now.running} running"]
    if now.mean is not None:
        parts.append(f"{now.solved} solved, mean {percent(now.mean)}")
    kinds = {"infrastructure": now.infrastructure, "tampered": now.tampered, "not attempted": now.not_attempted}
    parts += [f"{count} {kind}" for kind, count in kinds.items() if count]
    if now.made:
        parts.insert(1, f"{now.made} made")
    if now.lost:
        shares = (f"{stage} ({percent(share, 0)})" for stage, share in now.lost.items())
        parts.append("points lost at " + ", ".join(shares))
    if now.fleet:
        there = now.fleet
        parts.append(f"{there.nodes} nodes with {there.slots} slots, {there.grading} at work")
        parts.append(f"{there.waiting} waiting there")
        layers = [f"{there.layers} layers from node to node"] if there.layers else []
        parts += layers + ([f"{there.arriving} on their way"] if there.arriving else [])
    if now.left_s is not None and now.settled < now.total:
        parts.append(f"about {duration(now.left_s)} left")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Return a time as people say it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def _made(event: AttemptMade) -> str:
    now, made = event.standing, event.submission
    effort = made.effort
    took = f", {count(effort.turns, 'turn')}" if effort else ""
    took += f", {money(effort.cost_usd)}" if effort and effort.cost_usd is not None else ""
    why = f" ({effort.detail})" if effort and effort.detail else ""
    return f"[{now.made + now.settled}/{now.total}] {event.attempt} made: {made.outcome.value}{why}{took}"


class _Told:
    """Events as lines; the same failure of the infrastructure is told in full once, whomever it meets."""

    def __init__(self) -> None:
        self._first: dict[str, AttemptKey] = {}

    def words(self, event: Event, *, failures_only: bool = False) -> str:
        """Return an event as one line; with *failures_only* empty for others, and for a cause that was told."""
        verdict = event.line.verdict if isinstance(event, AttemptEnded) else None
        if not isinstance(event, AttemptEnded) or verdict is None or verdict.status is not Status.INFRASTRUCTURE:
            return "" if failures_only else words(event)
        key = event.line.attempt
        cause = common_cause("; ".join(one.message for one in verdict.reasons), key.task)
        is_new = cause not in self._first
        first = self._first.setdefault(cause, key)
        if failures_only and not is_new:
            return ""
        if not verdict.reasons or is_new:
            return words(event)
        as_told = "as before" if first == key else f"as {first}"
        same = verdict.but(reasons=(Reason(stage=verdict.reasons[0].stage, message=as_told),))
        return words(event.but(line=event.line.but(verdict=same)))


def _ended(event: AttemptEnded) -> str:
    line, now = event.line, event.standing
    place = f"[{now.settled}/{now.total}] {line.attempt}"
    verdict = line.verdict
    if verdict is None:
        return f"{place} not attempted"
    took = (line.finished_at - line.started_at).total_seconds()
    score = verdict.score
    points = f" {score.fraction}" if score else ""
    reasons = "; ".join(f"{reason.stage.value}: {reason.message}" for reason in verdict.reasons)
    why = f" ({reasons})" if reasons else ""
    end = " for two gradings, the second alone" if verdict.facts.get("graded_twice") and not line.cached else ""
    end += "; will be tried again" if event.again else ""
    return f"{place} {verdict.status.value}{points}{why}{', cached' if line.cached else f' in {took:.1f} s'}{end}"


def _plain(write: Callable[[str], None], *, verbose: bool) -> Progress:
    told = _Told()

    def tell(event: Event) -> None:
        unattempted = isinstance(event, AttemptEnded) and event.line.verdict is None
        if verbose or not (unattempted or isinstance(event, AttemptBegan)):
            write(told.words(event))

    return tell


def _troubles(write: Callable[[str], None]) -> Progress:
    """Return what tells warnings, and why attempts have no verdict: each cause once."""
    told = _Told()

    def tell(event: Event) -> None:
        if isinstance(event, Warned):
            write(words(event))
        elif (
            isinstance(event, AttemptEnded) and not event.again and (line := told.words(event, failures_only=True))
        ):
            write(line)

    return tell


@contextmanager
def _log(path: Path) -> Iterator[Progress]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab", buffering=0)
    except OSError as error:
        raise UsageError(
            f"--log-file {path} cannot be written: {error.strerror or error}; name another file"
        ) from error
    with file:

        @disk_errors(path)
        def tell(event: Event) -> None:
            line = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ} {printable(words(event))}\n"
            file.write(line.encode(errors="backslashreplace"))

        yield tell


@contextmanager
def _live(work: AtWork, *, verbose: bool) -> Iterator[Progress]:
    """Yield a progress that keeps what goes on up to date and prints above it what is worth keeping."""
    from rich.console import Console
    from rich.progress import BarColumn, Task, TextColumn
    from rich.progress import Progress as Bar
    from rich.text import Text

    class WorkColumn(TextColumn):
        def render(self, task: Task) -> Text:
            """Return how the run stands and what is done now, whose seconds go on while no event comes."""
            doing = work.words()
            return Text(task.description + (f"\n{printable(doing)}" if doing else ""))

    bar = Bar(
        BarColumn(bar_width=24),
        WorkColumn(""),
        console=Console(stderr=True, highlight=False),
        transient=True,
    )
    told, writing = _Told(), Writing()
    with bar:
        task = bar.add_task("starting", total=None)
        stands = ""

        def tell(event: Event) -> None:
            nonlocal stands
            if isinstance(event, AttemptSays):
                writing.hear(event)
                bar.update(task, description=stands + writing.words())
                return
            if _worth_keeping(event, verbose=verbose):
                bar.console.print(Text(printable(told.words(event))))
            if not isinstance(event, Warned | AttemptAt):
                now = event.standing
                stands = standing_words(now)
                bar.update(task, total=now.total, completed=now.settled, description=stands + writing.words())

        yield tell


class Writing:
    """What models write just now, of which the line shows the newest."""

    def __init__(self) -> None:
        self._said: dict[AttemptKey, str] = {}

    def hear(self, event: AttemptSays) -> None:
        """Take what one says."""
        self._said.pop(event.attempt, None)
        if event.text:
            self._said[event.attempt] = event.text

    def words(self) -> str:
        """Return the end of what the newest says, as one more line; empty where none writes."""
        if not self._said:
            return ""
        attempt, text = list(self._said.items())[-1]
        return f"\n{attempt} writes: ...{printable(' '.join(text.split()))[-_WRITING:]}"


def _worth_keeping(event: Event, *, verbose: bool) -> bool:
    if verbose or isinstance(event, RunBegan | RunEnded | Warned):
        return True
    return isinstance(event, AttemptMade) or (isinstance(event, AttemptEnded) and not event.line.settles)
