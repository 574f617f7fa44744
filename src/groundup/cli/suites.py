"""`groundup suites` and `groundup tasks`: list the benchmarks and their problems."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundup.api.flags import Output
from groundup.cli.options import Examples, Json, Suite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundup.api.listings import SuiteEntry

EXAMPLES: dict[str, Examples] = {
    "suites": (("What can be run?", "groundup suites"), ("For programs", "groundup suites --json")),
    "tasks": (
        ("Which tasks are there?", "groundup tasks nl2repobench"),
        ("For programs", "groundup tasks nl2repobench --json"),
        ("How large are they?", "groundup tasks dibench --statistics"),
    ),
}


def suites(json: Json = False) -> int:
    """List the suites with their versions, graders and numbers of tasks."""
    from groundup.api.listings import list_suites
    from groundup.cli.console import print_document, print_table

    found = list_suites()
    if json:
        print_document({"suites": [_document(one) for one in found]})
    else:
        print_table("", found.view.columns, found.view.rows)
    return 0


def _document(suite: "SuiteEntry") -> dict[str, object]:
    if suite.error is not None:
        return {"name": suite.name, "error": suite.error}
    return suite.model_dump(mode="json", exclude={"error"})


def tasks(
    suite: Suite,
    statistics: Annotated[
        bool, typer.Option("--statistics", help="The data in numbers instead, where the suite offers them.")
    ] = False,
    output: Output = None,
    json: Json = False,
) -> int:
    """List the tasks of SUITE: whether this machine can grade each, and what its reference scored last."""
    from groundup.cli.console import print_document, print_table, say

    if statistics:
        return _print_statistics(suite, json)
    if not json and glanced(suite, None if output is None else Path(output)):
        return 0

    from groundup.api import listings, selection

    found = listings.tasks(suite, output=output)
    if json:
        documents = [one.model_dump(mode="json") for one in found]
        print_document(
            {
                "suite": found.suite,
                "version": found.version,
                "groups": selection.groups(suite),
                "gradable": _gradable(suite, found.view.columns),
                "tasks": documents,
            }
        )
    else:
        columns = found.view.columns
        print_table(found.view.title, columns, found.view.rows, spare=columns[-2:1:-1])
        for task, why in found.blocked.items():
            say(f"{task} {why}")
        _say_how_many(suite, columns)
        for sentence in found.beside:
            say(f"groundup: {sentence}")
    return 0


def glanced(suite: str, output: Path | None = None) -> bool:
    """Print the tasks of *suite* at once where what ships with groundup is all there is; return whether it is."""
    from groundup.api.glance import tasks_at_a_glance
    from groundup.cli.console import print_table

    glance = tasks_at_a_glance(suite, output)
    if glance is None:
        return False
    print_table(glance.title, glance.columns, glance.rows, spare=glance.columns[-2:1:-1])
    _say_how_many(suite, glance.columns)
    return True


def _say_how_many(suite: str, columns: "Sequence[str]") -> None:
    """Say which groups there are, how many tasks this machine can grade, as `doctor`, and what the others lack."""
    from groundup.api.selection import groups
    from groundup.cli.console import say
    from groundup.environments.at_hand import HERE
    from groundup.runs.gradable import standing_of
    from groundup.settings import load

    if named := groups(suite):
        say(f"groundup: groups for --tasks and --exclude: {', '.join(named)}")
    if HERE not in columns:
        return
    found = standing_of(suite, load())
    for lack in found.lacks:
        say(f"{suite}: {lack}")
    say(f"groundup: can be graded here: {found}; the column `{HERE}` knows nothing of what is fetched when needed")


def _gradable(suite: str, columns: "Sequence[str]") -> dict[str, object] | None:
    """Return how many tasks can be graded here; None where the suite does not say what they need."""
    from groundup.environments.at_hand import HERE
    from groundup.runs.gradable import standing_of
    from groundup.settings import load

    return standing_of(suite, load()).model_dump(mode="json") if HERE in columns else None


def _print_statistics(suite: str, json: bool) -> int:
    from groundup.api.listings import statistics
    from groundup.cli.console import print_document, print_table, say

    name, found = statistics(suite)
    if json:
        print_document({"suite": name, **found.model_dump(mode="json")})
        return 0
    print_table(found.headline, found.columns, found.rows)
    for note in found.notes:
        say(f"groundup: {note}")
    return 0
