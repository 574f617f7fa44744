"""`groundup leaderboard`: pack runs so that others can check them, check them, and rank them on a page."""

from pathlib import Path
from typing import Annotated

import typer

from groundup.cli.options import Examples, Json, Run

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
    ),
    "leaderboard build": (("A page of all entries", "groundup leaderboard build entries -o site"),),
}
DIFFERS = 4
"""The exit code where numbers do not hold; 3 where they could not be checked."""
_Bundle = Annotated[Path, typer.Argument(metavar="BUNDLE", help="The file that `leaderboard pack` wrote.")]


def pack(
    run: Run,
    bundle: Annotated[Path, typer.Option("--to", "-o", help="The file to write, a .tar.gz.")],
    contamination: Annotated[
        str, typer.Option(help="What the model may have seen of the tasks, in words.")
    ] = "not stated",
    notes: Annotated[str, typer.Option(help="Anything else that readers should know.")] = "",
    output: Annotated[Path | None, typer.Option("--output", help="Folder of run folders.")] = None,
) -> int:
    """Write configuration, lock, verdicts and submissions of RUN to one file; no trajectories, logs or keys."""
    from groundup.api import leaderboard
    from groundup.cli.console import say

    made = leaderboard.pack(run, bundle, contamination=contamination, notes=notes, output=output)
    say(f"wrote {bundle}: {len(made.submissions)} submissions; `groundup leaderboard verify {bundle}` checks it")
    return 0


def verify(
    bundle: _Bundle,
    sample: Annotated[int, typer.Option(min=1, help="How many tasks to grade again.")] = 10,
    seed: Annotated[int | None, typer.Option(help="Draws the sample (default: at random, and shown).")] = None,
    suite: Annotated[
        str | None, typer.Option(help="A suite of your own, package.module:attribute, that the bundle may name.")
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Attempts at once.")] = None,
    json: Json = False,
) -> int:
    """Grade a random sample of BUNDLE again: exit code 0 when its numbers hold, else 4; 3 when not checked."""
    from groundup.api import leaderboard
    from groundup.cli.console import print_document, print_table, say

    found = leaderboard.verify(bundle, sample=sample, seed=seed, suite=suite, jobs=jobs)
    if json:
        told = {"holds": found.holds, "conclusion": found.conclusion}
        print_document({**found.model_dump(mode="json"), **told})
    elif found.differing:
        rows = [(one.attempt, one.claimed, one.found) for one in found.differing]
        print_table(f"What differs in {found.run}", ("attempt", "bundle", "graded again"), rows)
    say(f"groundup: {found.conclusion} (seed {found.seed})")
    return DIFFERS if found.differing else 0 if found.holds else 3


def build(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of bundles.")],
    site: Annotated[Path, typer.Option("--to", "-o", help="The folder to write the page to.")],
) -> int:
    """Write a static page that ranks the bundles in DIR, with filters, disclosures and links to the bundles."""
    from groundup.api import leaderboard
    from groundup.cli.console import say

    made = leaderboard.build(folder, site)
    say(f"wrote {site / 'index.html'}: {len(made)} runs")
    return 0
