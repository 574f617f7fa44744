"""`groundup leaderboard`: runs that others can check, and a page that ranks them."""

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundup.api.flags import RUNS_FOLDER, Jobs
from groundup.cli.options import Examples, Json, Run, time_option

if TYPE_CHECKING:
    from groundup_board.verification import BoardRules

EXAMPLES: dict[str, Examples] = {
    "leaderboard pack": (
        (
            "Hand a run in",
            'groundup leaderboard pack my-run -o entries/my-run.tar.gz --contamination "trained before the tasks"',
        ),
    ),
    "leaderboard verify": (
        ("Grade a sample of ten tasks again", "groundup leaderboard verify entries/my-run.tar.gz"),
        ("The same sample as before", "groundup leaderboard verify entries/my-run.tar.gz --sample 5 --seed 7"),
        ("With the time that its tests had", "groundup leaderboard verify entries/my-run.tar.gz --timeout 3600"),
        (
            "Let it onto the board if it holds",
            "groundup leaderboard verify entries/my-run.tar.gz --record verified --by 'our CI'",
        ),
    ),
    "leaderboard build": (
        (
            "A page of what was verified",
            "groundup leaderboard build entries --verified verified -o site",
        ),
    ),
}

DIFFERS = 4
"""The exit code where numbers do not hold; 3 where they could not be checked."""
_Bundle = Annotated[Path, typer.Argument(metavar="BUNDLE", help="The file that `leaderboard pack` wrote.")]


def pack(
    run: Run,
    bundle: Annotated[Path, typer.Option("--to", "-o", help="The file to write, a .tar.gz.")],
    contamination: Annotated[
        str, typer.Option(help="What the model may have seen of the tasks, in your words.")
    ] = "not stated",
    notes: Annotated[str, typer.Option(help="Anything else that readers should know.")] = "",
    output: Annotated[Path | None, typer.Option("--output", help=RUNS_FOLDER)] = None,
    json: Json = False,
) -> int:
    """Pack RUN into one file: configuration, lock, verdicts and submissions; no trajectories, logs or keys."""
    from groundup.cli.console import print_document, say
    from groundup.domain.names import count
    from groundup_board import leaderboard

    made = leaderboard.pack(run, bundle, contamination=contamination, notes=notes, output=output)
    if json:
        print_document({"file": str(bundle), "submissions": len(made.submissions)})
    packed = count(len(made.submissions), "submission")
    say(f"wrote {bundle}: {packed}; `groundup leaderboard verify {bundle}` checks it")
    return 0


@dataclass(frozen=True)
class Recheck:
    """What of a bundle is graded again, and when a score counts as the same."""

    sample: Annotated[int, typer.Option(min=1, help="How many tasks to grade again.")] = 10
    seed: Annotated[
        int | None, typer.Option(help="Seed of the sample (default: a random one, which is printed).")
    ] = None
    times: Annotated[int, typer.Option(min=1, help="How often to grade what differs, at most.")] = 3
    tolerance: Annotated[
        float, typer.Option(min=0, max=1, help="A share of 1 by which scores may differ, such as 0.01.")
    ] = 0.0
    timeout: Annotated[
        float | None,
        typer.Option(
            parser=partial(time_option, least=1),
            metavar="TIME",
            help="Time for a task's tests, such as 10m (default: what its recipe says).",
        ),
    ] = None


@dataclass(frozen=True)
class BoardLimits:
    """What bundles may name."""

    suite: Annotated[
        str | None, typer.Option(help="A suite of your own, package.module:attribute, that bundles may name.")
    ] = None
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=FILE",
            help="A fixed set of tasks beside `full` and `lite`: a task a line; or the name of a group alone.",
        ),
    ] = None

    def rules(self) -> "BoardRules":
        """Return them as the API takes them."""
        from groundup_board.verification import BoardRules

        return BoardRules(suite=self.suite, sets=tuple(self.sets or ()))


def verify(
    bundle: _Bundle,
    again: Recheck,
    rules: BoardLimits,
    record: Annotated[
        Path | None, typer.Option(help="If it holds, note it in this folder, for `leaderboard build`.")
    ] = None,
    by: Annotated[str, typer.Option(help="Who verifies, as the page says.")] = "not stated",
    jobs: Annotated[Jobs, "Attempts at once."] = None,
    json: Json = False,
) -> int:
    """Prove BUNDLE's claims and grade a sample again. Exit code 0: they hold; 4: they do not; 3: not checked."""
    from groundup.cli.console import print_document, print_table, say
    from groundup.settings import load
    from groundup_board import verification, verified

    found = verification.verify(bundle, **asdict(again), rules=rules.rules(), settings=load({"jobs": jobs}))
    if record is not None and found.holds:
        say(f"wrote {verified.record(bundle, found, record, by)}")
    if json:
        conclusions = {"holds": found.holds, "conclusion": found.conclusion}
        print_document({**found.model_dump(mode="json"), **conclusions})
    elif found.differing or found.unsteady:
        rows = [(one.attempt, one.claimed, ", ".join(one.found)) for one in (*found.differing, *found.unsteady)]
        print_table(f"What differs in {found.run}", ("attempt", "bundle", "graded again"), rows)
    for note in found.notes:
        say(f"groundup: {note}")
    say(f"groundup: {found.conclusion}" + (f" (seed {found.seed})" if found.tasks else ""))
    return DIFFERS if found.differing or found.refused else 0 if found.holds else 3


def build(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of bundles.")],
    site: Annotated[Path, typer.Option("--to", "-o", help="The folder to write the page to.")],
    verified: Annotated[Path, typer.Option(help="The folder that `leaderboard verify --record` wrote to.")],
    rules: BoardLimits,
    pages: Annotated[
        bool,
        typer.Option("--pages", help="Let each row lead to pages over its run, as those of `view --bundle`."),
    ] = False,
    json: Json = False,
) -> int:
    """Write a page that ranks the verified bundles in DIR. Exit code 4: some were left out, which are named."""
    from groundup.cli.console import print_document, say
    from groundup.domain.names import count
    from groundup_board import leaderboard

    made = leaderboard.build(folder, site, verified=verified, rules=rules.rules(), pages=pages)
    if json:
        print_document(made)
    for name, faults in made.refused.items():
        say(f"groundup: left out {name}: {'; '.join(faults)}")
    wrote = f"wrote {site / 'index.html'}: {count(len(made.runs), 'run')}"
    say(wrote if made.runs else "groundup: no bundle enters, so nothing was written")
    return DIFFERS if made.refused else 0
