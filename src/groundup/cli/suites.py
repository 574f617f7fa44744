"""`groundup suites`: list the benchmarks."""

from groundup.cli.options import Examples, Json

EXAMPLES: Examples = (("What can be run?", "groundup suites"), ("For programs", "groundup suites --json"))


def suites(json: Json = False) -> int:
    """List the suites with their versions, graders and numbers of tasks."""
    from groundup import catalog
    from groundup.cli.console import print_document, print_table
    from groundup.cli.settings import settings_from
    from groundup.domain.errors import GroundupError
    from groundup.suites.base import open_suite

    settings = settings_from()
    documents: list[dict[str, object]] = []
    rows = []
    for name in catalog.names("suite"):
        try:
            suite = open_suite(name, settings)
            count, graders = len(suite.tasks()), list(suite.graders())
        except GroundupError as error:  # one that cannot be loaded must not hide the others
            documents.append({"name": name, "error": str(error)})
            rows.append((name, "", "", "", str(error)))
            continue
        documents.append(
            {
                "name": name,
                "version": suite.version,
                "description": suite.description,
                "tasks": count,
                "graders": graders,
                "default_grader": suite.default_grader,
            }
        )
        rows.append((name, suite.version, str(count), ", ".join(graders), suite.description))
    if json:
        print_document({"suites": documents})
    else:
        print_table("", ("suite", "version", "tasks", "graders", "what it measures"), rows)
    return 0
