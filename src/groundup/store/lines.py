"""Lines of `verdicts.jsonl`: writing one in under 2 KB, reading them back."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from groundup.domain.errors import UsageError
from groundup.domain.plainly import plainly
from groundup.domain.verdicts import Verdict
from groundup.store.journal import complete_lines
from groundup.store.records import VerdictLine

LINE_BYTES = 2047
"""Longest line without its newline: one write of it is one page at most, and people can read it."""


def encode(line: VerdictLine) -> tuple[bytes, bool]:
    """Return the JSON of *line* and whether its verdict had to be shortened to fit."""
    data = line.model_dump_json().encode()
    if len(data) <= LINE_BYTES:
        return data, False
    assert line.verdict is not None  # nothing else in a line can be long
    for verdict in _shorter_and_shorter(line.verdict):
        data = line.model_copy(update={"verdict": verdict}).model_dump_json().encode()
        if len(data) <= LINE_BYTES:
            return data, True
    raise AssertionError(f"a verdict line without facts is longer than {LINE_BYTES} bytes")


def _shorter_and_shorter(verdict: Verdict) -> Iterator[Verdict]:
    """Give up what says least first: the tails of messages, facts from the longest, timings, further scores."""
    facts: dict[str, str | int | float | bool | None] = {**verdict.facts, "shortened": True}
    for characters in (160, 60, 20):
        verdict = verdict.model_copy(
            update={
                "facts": facts,
                "reasons": tuple(
                    reason.model_copy(update={"message": reason.message[:characters]})
                    for reason in verdict.reasons
                ),
            }
        )
        yield verdict
    for name in sorted(verdict.facts, key=lambda name: len(str(verdict.facts[name])) + len(name), reverse=True):
        facts = {key: value for key, value in facts.items() if key != name or key == "shortened"}
        yield verdict.model_copy(update={"facts": facts})
    yield verdict.model_copy(update={"facts": facts, "timings_s": {}})
    yield verdict.model_copy(update={"facts": facts, "timings_s": {}, "scores": {}})


def read_lines(path: Path) -> Iterator[VerdictLine]:
    """Yield the lines of the file at *path*; a torn last one is left out.

    Raises `UsageError` naming file and line when one is damaged.
    """
    for number, data in complete_lines(path):
        try:
            yield VerdictLine.model_validate_json(data)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "the line"
            raise UsageError(
                f"{path}, line {number} is damaged ({place}: {plainly(first)}); restore the file, or remove "
                "that line and resume the run"
            ) from error
