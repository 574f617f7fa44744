"""`groundup run`: let a subject do a suite's tasks, and grade what it hands in."""

from typing import Annotated

import typer

from groundup.cli.options import Beginning, Examples, Judging, Selection, Suite, Talk, Work

EXAMPLES: Examples = (
    (
        "Does the original library pass its own hidden tests?",
        "groundup run nl2repobench -a oracle --tasks sqlparse",
    ),
    ("Does an empty submission get nothing?", "groundup run nl2repobench -a nop --jobs 4"),
    ("What would be done?", "groundup run nl2repobench -a oracle --dry-run"),
)


def run(
    suite: Suite,
    agent: Annotated[
        str,
        typer.Option(
            "--agent",
            "-a",
            help="oracle (the reference), nop (nothing), or one that the suite offers (dibench: static).",
        ),
    ],
    selection: Selection,
    judging: Judging,
    work: Work,
    talk: Talk,
    begin: Beginning,
) -> int:
    """Let a subject do the tasks of SUITE and grade what it hands in."""
    from groundup.cli.working import new_run
    from groundup.store.records import References

    return new_run(suite, References(which=agent), (selection, judging), work, talk, begin)
