"""`groundup tasks`: list a benchmark's problems."""

from groundup.cli.options import Examples, Json, Suite

EXAMPLES: Examples = (
    ("Which tasks are there?", "groundup tasks nl2repobench"),
    ("For programs", "groundup tasks nl2repobench --json"),
)


def tasks(suite: Suite, json: Json = False) -> int:
    """List the tasks of SUITE."""
    from groundup import catalog
    from groundup.cli.console import print_document, print_table
    from groundup.cli.settings import settings_from
    from groundup.suites.protocol import Suite as SuiteProtocol

    found: SuiteProtocol = catalog.find("suite", suite)(settings_from())
    columns, rows = found.task_rows()
    if json:
        documents = [
            {
                "id": task.id,
                "data_version": task.data_version,
                "digest": task.digest,
                "limits": task.limits.model_dump(mode="json"),
                "metadata": task.metadata,
            }
            for task in found.tasks()
        ]
        print_document({"suite": found.name, "version": found.version, "tasks": documents})
    else:
        print_table(f"{found.name} {found.version}", columns, list(rows))
    return 0
