"""The leaderboard's page over nine runs, in words and links.

`python -m tests.groundup_board.test_page` writes golden/page.txt anew: read what changed, for users will see it.
"""

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from groundup.domain.limits import Effort, EpisodeLimits
from groundup.domain.subjects import Subject
from groundup.domain.usage import TokenUsage
from groundup.domain.verdicts import GraderIdentity
from groundup.reports.summary import report_run
from groundup_board.page import Entry, Verified, board, limits_in_words
from tests.reports.made import BEGAN, Run, Word, run_of

PAGE = Path(__file__).parent / "golden/page.txt"
LAX = GraderIdentity(name="lax", version="7", data_version="d1", environment="none")
TASKS = [f"t{number}" for number in range(8)]


def entry(name: str, run: Run, **changes: Any) -> Entry:
    """Return an entry of *run*; *changes* of it, of what was verified, or of its report."""
    report = report_run(*run)
    verified = Verified(by="Ada", at=BEGAN, tasks=2, of=8, seed=7, unsteady=0, record=f"evidence/{name}.json")
    made = Entry(
        run=report,
        task_set="all",
        set_digest="sha256:" + "a" * 64,
        verified=verified,
        kind="predictions",
        limits=limits_in_words(None),
        contamination="none",
        evidence=f"evidence/{name}.tar.gz",
        digest="0123456789abcdef" * 4,
    )
    of_run = {name: changes.pop(name) for name in ("subject", "effort") if name in changes}
    of_check = {name: changes.pop(name) for name in ("unsteady", "tasks", "by") if name in changes}
    return made.but(run=report.but(**of_run), verified=verified.but(**of_check), **changes)


def shares(*numerators: float, attempts: int = 1) -> dict[str, list[Word]]:
    """Return scores of 4 points by task."""
    return {task: [(points, 4)] * attempts for task, points in zip(TASKS, numerators, strict=False)}


def entries() -> list[Entry]:
    """Return runs that differ in all that a page shows."""
    program = Subject(agent="cli", model="scripted/some/where/m.toml", settings={"preset": "codex@1", "turns": 3})
    paid = Effort(turns=3, usage=TokenUsage(input_tokens=7), cost_usd=1.005)
    few = run_of("few", shares(4, 2, 0))
    lost: dict[str, list[Word]] = shares(4, 4, 3, 4, 4, 4, 4, 4) | {"t7": ["tampered"], "t6": ["not_attempted"]}
    return [
        entry("low", run_of("low", shares(0, 0, 1, 0, 0, 1, 0, 0)), contamination="seen <b>it</b>"),
        entry("good", run_of("good", shares(4, 4, 4, 3, 4, 4, 4, 3)), subject=program, kind="agent", effort=paid,
              limits=limits_in_words(EpisodeLimits(turns=9)),
              languages=("python", "a|b"), pages="runs/good/index.html"),
        entry("lost", run_of("lost", lost), unsteady=2, tasks=8, by="B & C",
              same_as=("1 of 8 submissions are those of good (x)", "another mark")),
        entry("twice", run_of("twice", shares(4, 4, 4, 3, 4, 4, 4, 2, attempts=2)), notes="two\ntries"),
        entry("few", few, task_set="small", set_digest="sha256:" + "b" * 64),
        entry("few2", run_of("few2", shares(4, 4, 1)), task_set="small", set_digest="sha256:" + "b" * 64),
        entry("lax", run_of("lax", shares(4, 4, 4, 4, 4, 4, 4, 4), grader=LAX), languages=("rust",)),
        entry("other", run_of("other", shares(1, 2, 3, 4, 4, 3, 2, 1), suite="zoo 3"),
              subject=Subject(agent="loop"), effort=paid.but(cost_usd=None)),
        entry("one", run_of("one", shares(1)), task_set="one", set_digest="sha256:c"),
        entry("one2", run_of("one2", shares(3)), task_set="one", set_digest="sha256:c"),
        entry("empty", run_of("empty", {task: ["not_attempted"] for task in TASKS})),
    ]  # fmt: skip


def shown() -> str:
    """Return what the page says and where it leads, a line of the page each."""
    page = board(entries())
    main = page[page.index("<main") : page.index("</main>")]
    main = re.sub(r'<[^>]*\b(?:href|value)="([^"]*)"[^>]*>', r" [\1] ", main)
    main = re.sub(r"<tr( [^>]+)>", r" {\1 } ", main).replace("<td>", " | ").replace("<dt>", " ; ")
    lines = [" ".join(unescape(re.sub(r"<[^>]+>", " ", part)).split()) for part in main.split("\n")]
    return "\n".join(filter(None, lines)) + "\n"


def test_the_page_reads_as_before() -> None:
    """Groups, ranks, filters, marks and everything that is disclosed."""
    assert shown() == PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (None, "not known: the submissions were made elsewhere"),
        (EpisodeLimits(turns=3), "turns=3"),
    ],
)
def test_limits_are_told_in_words(limits: EpisodeLimits | None, words: str) -> None:
    """Those that are set."""
    assert words in limits_in_words(limits)


if __name__ == "__main__":
    PAGE.write_text(shown(), encoding="utf-8")
