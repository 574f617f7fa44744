"""`groundup suites` and `groundup tasks`: list the benchmarks and their problems."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundup.api.flags import Output
from groundup.cli.options import Examples, Json, Suite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundup.api.listings import SuiteEntry, TaskEnvironment

EXAMPLES: dict[str, Examples] = {
    "suites": (("What can be run?", "groundup suites"), ("For programs", "groundup suites --json")),
    "tasks": (
        ("Which tasks are there?", "groundup tasks nl2repobench"),
        ("For programs", "groundup tasks nl2repobench --json"),
        ("Which packages lie beside a submission when it is tested?", "groundup tasks nl2repobench sqlparse"),
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
    task: Annotated[
        str | None, typer.Argument(metavar="TASK", help="Show what this task's environment holds, instead.")
    ] = None,
    statistics: Annotated[
        bool, typer.Option("--statistics", help="The data in numbers instead, where the suite offers them.")
    ] = False,
    output: Output = None,
    json: Json = False,
) -> int:
    """List the tasks of SUITE: whether this machine can grade each, and what its reference scored last.

    With TASK, list what lies beside a submission of it when it is tested.
    """
    from groundup.cli.console import print_document, print_table, say

    if task is not None:
        return _print_environment(suite, task, json)
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
                "tasks": documents,
            }
        )
    else:
        columns = found.view.columns
        print_table(found.view.title, columns, found.view.rows, spare=columns[-2:1:-1])
        for one, why in found.blocked.items():
            say(f"{one} {why}")
        _say_what_else(suite, selection.groups(suite), columns)
        for sentence in found.beside:
            say(f"groundup: {sentence}")
    return 0


def glanced(suite: str, output: Path | None = None) -> bool:
    """Print the tasks of *suite* at once where what ships with groundup is all there is; return whether it is.

    Imports nothing that runs need.
    """
    if suite != "nl2repobench" or not _is_fresh(suite, output):
        return False
    from groundup.cli.console import print_table
    from groundup.configuration import default_cache, gathered
    from groundup.suites.nl2repobench.listing import shipped_groups, shipped_rows

    cache = gathered(("cache_dir",), {}).get("cache_dir") or default_cache()
    version, shipped, rows = shipped_rows(Path(cache))
    columns = (*shipped, "last oracle")
    title = f"{suite} {version}: {len(rows)} tasks"
    print_table(title, columns, [(*row, "-") for row in rows], spare=columns[-2:1:-1])
    _say_what_else(suite, shipped_groups(), columns)
    return True


def _is_fresh(suite: str, output: Path | None) -> bool:
    """Whether there is no data of *suite*, no run of its oracle, and nothing that decides what can be graded here.

    That are a setting, and the lack of Git: then each recipe says whether its original needs it.
    """
    from groundup.configuration import default_cache, gathered
    from groundup.store.oracles import oracle_runs

    given = gathered(("output", "cache_dir", "data_dir", "python"), {"output": output})
    folder, cache, data = (given.pop(name, None) for name in ("output", "cache_dir", "data_dir"))
    if given or not all(isinstance(value, str | Path | None) for value in (folder, cache, data)):
        return False
    if shutil.which("git") is None:
        return False
    data = data or Path(cache or default_cache()) / "data"
    if (Path(data) / suite).exists():
        return False
    return next(oracle_runs(Path("runs" if folder is None else folder), suite), None) is None


def _say_what_else(suite: str, groups: "Sequence[str]", columns: "Sequence[str]") -> None:
    """Say which groups there are, and what counts how many tasks this machine can grade: that asks the network."""
    from groundup.cli.console import say
    from groundup.environments.installed_tools import HERE

    if groups:
        say(f"groundup: groups for --tasks and --exclude: {', '.join(groups)}")
    if HERE in columns:
        say(
            f"groundup: `groundup doctor` counts what can be graded here, and says what the others of {suite} lack"
        )


def _print_environment(suite: str, task: str, json: bool) -> int:
    from groundup.api.listings import environment
    from groundup.cli.console import print_document, print_table, say

    found = environment(suite, task)
    if json:
        print_document(found)
        return 0
    if found.packages:
        python = f"Python {found.python}, " if found.python else ""
        title = f"{suite}, {found.grader}, {task}: {python}and these packages"
        print_table(title, ("package", "version"), [tuple(one.split("==", 1)) for one in found.packages])
    if found.programs:
        say(f"groundup: tests start {', '.join(found.programs)}")
    say(f"groundup: what a submission declares {_installed(found)}")
    for sentence in found.rights:
        say(f"groundup: {sentence}")
    return 0


def _installed(found: "TaskEnvironment") -> str:
    if "mvn" in found.programs:
        return "in its pom.xml comes from Maven's repositories"
    return "is installed, too" if found.installs_declared else "is not installed: nothing else is there"


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
