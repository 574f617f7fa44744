"""`groundup doctor`: what this machine can do, what enforces limits, and what to do where something is missing."""

from groundup.cli.options import Examples, Json

EXAMPLES: dict[str, Examples] = {
    "doctor": (
        ("Can this machine grade, and what enforces its limits?", "groundup doctor"),
        ("For a bug report", "groundup doctor --json"),
    ),
}


def doctor(json: Json = False) -> int:
    """Say what this machine can do, and what to do where something is missing.

    Ends with 3 when submissions cannot be graded here as it is.
    """
    from groundup.api.machine import examine_machine
    from groundup.cli.console import print_document, print_table, say

    found = examine_machine()
    suites = found.suites
    if json:
        print_document({"ready": found.ready, **found.model_dump(mode="json")})
    else:
        print_table(
            "", ("what", "", "found"), [(fact.name, fact.status.value, fact.value) for fact in found.facts]
        )
        for fact in found.facts:
            if fact.advice:
                say(f"{fact.name}: {fact.advice}")
        rows = [(one.suite, str(one.tasks), str(one.online), str(one.offline)) for one in suites]
        print_table("\nTasks that can be graded here", ("suite", "tasks", "online", "offline"), rows)
        for one in suites:
            for lack, count in one.lacks.items():
                say(f"{one.suite}: {f'{count} tasks lack {lack}' if count else lack}")
    online, total = (sum(one.online for one in suites), sum(one.tasks for one in suites))
    able = f"groundup: this machine can grade submissions to {online} of {total} tasks"
    say(able if found.ready else "groundup: not ready; see above")
    return 0 if found.ready else 3
