"""`groundup agents`: what can be run on a suite."""

from groundup.cli.options import Examples, Json

EXAMPLES: dict[str, Examples] = {
    "agents": (
        ("Which agents are there?", "groundup agents"),
        ("Run one of them", "groundup run nl2repobench -a claude-code -m anthropic/claude-sonnet-4-5"),
        ("For programs", "groundup agents --json"),
    ),
}


def agents(json: Json = False) -> int:
    """List what `run -a` takes: agents and programs, the version tried last, and whether each can run here.

    `-a NAME` runs a program in the version shown, `-a NAME@VERSION` in another one, `-a ./FILE.toml` a program of
    your own (docs/cli-agents.md).
    """
    from groundup.api.agents import list_agents
    from groundup.cli.console import print_document, print_table

    found = list_agents()
    if json:
        print_document({"agents": [one.model_dump(mode="json") for one in found]})
    else:
        print_table("", found.view.columns, found.view.rows)
    return 0
