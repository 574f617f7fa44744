"""What an attempt lost, and each lost test whole, as `groundup why` prints it with --full or -t."""

import itertools
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from groundup.domain.subjects import AttemptKey
    from groundup.domain.verdicts import Reason, TestResult
    from groundup.settings import Settings
    from groundup.store.folder import RunFolder
    from groundup.store.records import VerdictLine

_SILENT = 20
"""Tests of which only the names are known that are listed."""


class Lost(NamedTuple):
    """What is known of an attempt's losses."""

    key: "AttemptKey"
    line: "VerdictLine | None"
    tests: "tuple[TestResult, ...]"
    left_out: tuple[str, ...] = ()
    """What of the submission was not taken in, and why."""

    @property
    def reasons(self) -> "tuple[Reason, ...]":
        return () if self.line is None or self.line.verdict is None else self.line.verdict.reasons

    @property
    def ended(self) -> str:
        """How making its submission ended, where it did not end by itself."""
        from groundup.reports.why import ended_words

        return "" if self.line is None else ended_words(self.line.outcome, self.line.effort)

    @property
    def reward(self) -> float:
        """Its score as a share of 1; 1 where there is none."""
        from groundup.domain.verdicts import counted

        reward = None if self.line is None else counted(self.line.verdict)
        return 1.0 if reward is None else reward

    @property
    def score(self) -> str:
        """What it got."""
        from groundup.domain.verdicts import got

        return got(None if self.line is None else self.line.verdict, is_pending=self.line is None)


def all_passed(tests: "Sequence[TestResult]") -> str:
    """Say that nothing was lost of *tests*."""
    expected = sum(one.expected for one in tests)
    if any(one.kind == "dependency" for one in tests):
        if other := sum(bool(one.detail) for one in tests):
            return f"all {expected} dependencies are declared, {other} of them otherwise than in the original"
        return f"all {expected} dependencies are declared as expected"
    return f"all {expected} expected tests passed" if expected else "no test was counted, so none can have passed"


def further(folder: "RunFolder", key: "AttemptKey") -> str:
    """Return which command tells more of an attempt without a list of tests; "" where none does."""
    attempt, show = folder.attempt(key), f"groundup show {folder.path} {key}"
    if attempt.logs.is_dir():
        return f": `{show} --logs` shows what was printed"
    return f": `{show}` says how it ended" if attempt.trajectory_file.is_file() else ""


def print_every(folder: "RunFolder", one: Lost, test: str | None, settings: "Settings") -> None:
    """Print each lost test of an attempt, and dependencies that are declared otherwise."""
    from groundup.cli.attempts import print_heading, print_text
    from groundup.cli.console import say
    from groundup.reports.causes import declared_otherwise, untold
    from groundup.reports.why import lacking_lines

    lost = [known for known in one.tests if known.lost]
    reasons = untold(one.reasons, lost)
    for stage, group in itertools.groupby(reasons, lambda reason: reason.stage.value):
        print_heading(stage, {}, "bold")
        print_text("\n".join(reason.message for reason in group), full=True)
    if not one.tests:
        say(f"groundup: {one.key} has no list of tests{further(folder, one.key)}")
        return
    for line in lacking_lines(lost):
        print_text(line, full=True)
    _print_tests(lost, _hidden_files(folder, one, settings) if test is not None and lost else {})
    named = f" whose names hold {test!r}" if test else ""
    if any(known.kind == "dependency" for known in one.tests):
        other = [known for group in declared_otherwise(one.tests) for known in group.tests]
        for known in other:
            print_heading(known.id, {}, "bold")
            print_text(known.detail, full=True)
        otherwise = sum(known.message.startswith("declared otherwise") for known in other)
        made_up = sum("no registry has it" in known.message for known in (*lost, *other))
        more = f"; {otherwise} declared otherwise" if otherwise else ""
        more += f"; {made_up} that no registry has" if made_up else ""
        counted = f"{len(lost)} of {len(one.tests)} dependencies{named}"
        say(f"groundup: {counted} are missing, too many or elsewhere{more}")
    elif lost or test:
        expected = sum(known.expected for known in one.tests)
        say(f"groundup: {one.key}: {len(lost)} of {expected} expected tests{named} did not pass")
    else:
        say(f"groundup: {all_passed(one.tests)}")


def _hidden_files(folder: "RunFolder", one: Lost, settings: "Settings") -> "Mapping[str, str]":
    """Return the text of the hidden tests, which the run's owner has on the disk; dependencies have none."""
    import asyncio

    from groundup.runs.hidden_code import hidden_files

    if any(known.kind == "dependency" for known in one.tests):
        return {}
    return asyncio.run(hidden_files(folder.path, one.key.task, settings))


def _print_tests(lost: "Sequence[TestResult]", files: "Mapping[str, str]") -> None:
    """Print tests with what they say, and their text in *files*.

    Those that say nothing of their own stand below one heading for each reason.
    """
    from groundup.cli.attempts import print_heading, print_text
    from groundup.reports.bodies import body_of
    from groundup.reports.causes import places_of
    from groundup.reports.why import demanded, guess_lines

    silent: dict[str, list[str]] = {}
    for one in lost:
        said = one.detail or one.message
        if one.outcome == "missing" or not said:
            silent.setdefault(said, []).append(one.id)
        else:
            flaky = ", passed when it ran again (flaky)" if one.flaky else ""
            print_heading(one.id if one.kind == "dependency" else f"{one.id}: {one.outcome}{flaky}", {}, "bold")
            print_text(said, full=True)
            if one.demand:
                print_text("\n".join(["demanded:", *(f"  {line}" for line in demanded(one))]), full=True)
            if one.calls:
                print_text(f"calls {one.calls.removeprefix('/workspace/')}", full=True)
            if one.probably:
                print_text("\n".join(guess_lines(places_of(one))), full=True)
            if body := body_of(one, files):
                print_text("\n".join(["", *body]), full=True)
    for said, ids in silent.items():
        print_heading(f"tests without a result: {len(ids)}{said and f', {said}'}", {}, "bold")
        rest = [f"and {len(ids) - _SILENT} more, which --json lists"] if len(ids) > _SILENT else []
        print_text("\n".join([*ids[:_SILENT], *rest]), full=True)
