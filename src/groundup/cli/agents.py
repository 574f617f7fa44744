"""`groundup agents` and `models check`: what can be run on a suite, and what a model's endpoint can do."""

from groundup.api.flags import ModelCheckFlags
from groundup.cli.options import Examples, Json

EXAMPLES: dict[str, Examples] = {
    "agents": (
        ("Which agents are there?", "groundup agents"),
        ("Run one of them", "groundup run nl2repobench -a claude-code -m anthropic/claude-sonnet-4-5"),
        ("For programs", "groundup agents --json"),
    ),
    "models check": (
        ("Does it call tools, and what will a run take?", "groundup models check -m openai/gpt-4.1 --price 2:8"),
        ("A server of your own", "groundup models check -m vllm/my-model --base-url http://127.0.0.1:8000/v1"),
        ("For programs", "groundup models check -m openai/gpt-4.1 --json"),
    ),
}


def agents(json: Json = False) -> int:
    """List what `run -a` takes: agents and programs, the version tried last, and whether each can run here.

    `-a NAME` runs a program in the version shown, `-a NAME@VERSION` in another one, `-a ./FILE.toml` a program of
    your own (docs/agents.md).
    """
    from groundup.api.agents import list_agents
    from groundup.cli.console import print_document, print_table

    found = list_agents()
    if json:
        print_document({"agents": [one.model_dump(mode="json") for one in found]})
    else:
        print_table("", found.view.columns, found.view.rows)
    return 0


def check_model(flags: ModelCheckFlags, json: Json = False) -> int:
    """Ask a model eight short questions: tools, streams, settings, window, speed, and what an attempt would take.

    Costs less than a cent with most models. Exit code 3: it answers nothing.
    """
    from groundup.api.model_checks import check_model as ask
    from groundup.cli.console import print_document, print_table

    found = ask(**flags)
    if json:
        print_document({"model": found.view.title, "answers": [one.model_dump(mode="json") for one in found]})
    else:
        print_table(found.view.title, found.view.columns, found.view.rows)
    return 0
