"""`groundup tasks`: list a benchmark's problems."""

from typing import TYPE_CHECKING, Annotated

import typer

from groundup.cli.options import Examples, Json, Output, Suite

if TYPE_CHECKING:
    from groundup.suites.base import Suite as AnySuite

EXAMPLES: Examples = (
    ("Which tasks are there?", "groundup tasks nl2repobench"),
    ("For programs", "groundup tasks nl2repobench --json"),
    ("How large are they?", "groundup tasks dibench --statistics"),
)


def tasks(
    suite: Suite,
    statistics: Annotated[
        bool, typer.Option("--statistics", help="The data in numbers instead, where the suite offers them.")
    ] = False,
    output: Output = None,
    json: Json = False,
) -> int:
    """List the tasks of SUITE: what is at hand of each, and what the newest run of its oracle said."""
    from groundup.cli.console import print_document, print_table
    from groundup.cli.settings import settings_from
    from groundup.runs.oracles import newest_oracles
    from groundup.suites.base import open_suite

    settings = settings_from(output=output)
    found = open_suite(suite, settings)
    if statistics:
        return _print_statistics(found, json)
    columns, rows = found.task_rows()
    oracles = newest_oracles(found, settings.output)
    if json:
        documents = [
            {
                "id": task.id,
                "data_version": task.data_version,
                "digest": task.digest,
                "limits": task.limits.model_dump(mode="json"),
                "metadata": task.metadata,
                "last_oracle": oracles[task.id].model_dump(mode="json") if task.id in oracles else None,
            }
            for task in found.tasks()
        ]
        print_document({"suite": found.name, "version": found.version, "tasks": documents})
    else:
        more = [(*row, str(oracles.get(row[0], "-"))) for row in rows]
        print_table(
            f"{found.name} {found.version}: {len(rows)} tasks",
            (*columns, "last oracle"),
            more,
            spare=columns[:0:-1],
        )
    return 0


def _print_statistics(suite: "AnySuite", json: bool) -> int:
    from groundup.cli.console import print_document, print_table, say
    from groundup.domain.errors import UsageError

    told = suite.statistics()
    if told is None:
        raise UsageError(f"{suite.name} has no statistics of its data; leave --statistics out")
    if json:
        print_document({"suite": suite.name, **told.model_dump(mode="json")})
        return 0
    print_table(told.headline, told.columns, told.rows)
    for note in told.notes:
        say(f"groundup: {note}")
    return 0
