"""`groundup fleet`: other machines that grade for runs."""

from typing import Annotated

import typer

from groundup.api.flags import Sandbox
from groundup.cli.options import Examples, Json
from groundup_fleet.flags import FleetFlags, MemoryMb, Slots

EXAMPLES: dict[str, Examples] = {
    "fleet up": (
        ("Four nodes on this machine", "groundup fleet up --local 4 --address-file fleet.json"),
        (
            "A node on each of two hosts, over SSH",
            "groundup fleet up --ssh alpha,beta --host 10.0.0.5 --address-file fleet.json",
        ),
        (
            "Up to ten nodes while there is work",
            "groundup fleet up --local 10 --minimum 0 --address-file fleet.json",
        ),
        (
            "The same as jobs of Slurm",
            "groundup fleet up --slurm 10 --minimum 0 --slots 8 --memory-mb 30000 --host 10.0.0.5 "
            "--address-file fleet.json",
        ),
        ("Grade on it", "groundup evaluate nl2repobench -p predictions/ --workers fleet.json"),
        (
            "Let agents work on it, too",
            "groundup run repogenesis -a loop -m PROVIDER/MODEL --workers fleet.json --agents-on-nodes",
        ),
    ),
    "fleet join": (
        ("One more node, while a run goes on", "groundup fleet join fleet.json"),
        ("Half of a machine", "groundup fleet join fleet.json --slots 4 --memory-mb 16000"),
    ),
    "fleet doctor": (("What each node is, and whether it can work", "groundup fleet doctor fleet.json"),),
}


def up(flags: FleetFlags) -> int:
    """Run a scheduler and nodes until ^C. Runs use them with `--workers`.

    The file that --address-file names holds keys: who can read it can run code on every node (docs/fleet.md).
    """
    from groundup.cli.console import say
    from groundup_fleet import api

    api.up(lambda text: say(f"groundup: {text}"), **flags)
    return 0


def join(
    address: Annotated[str, typer.Argument(help="The file of `fleet up`, an address, or - for standard input.")],
    slots: Slots = None,
    memory_mb: MemoryMb = None,
) -> int:
    """Be a node of a fleet until ^C, or until its scheduler ends."""
    from groundup.cli.console import say
    from groundup_fleet import api

    api.join_fleet(address, slots, memory_mb, lambda text: say(f"groundup: {text}"))
    return 0


def doctor(
    address: Annotated[str, typer.Argument(help="The file of `fleet up`, or an address.")],
    sandbox: Annotated[Sandbox, "The sandbox that runs will use (default: bubblewrap)."] = None,
    json: Json = False,
) -> int:
    """Check every node: versions, sandbox, and whether it can work with this groundup."""
    from groundup.cli.console import print_document, say
    from groundup_fleet import api

    nodes = api.look(address, sandbox or "bubblewrap")
    troubled = [one for one in nodes if one.problem]
    if json:
        print_document({"nodes": [one.model_dump(mode="json") for one in nodes]})
    else:
        for one in nodes:
            about = [f"groundup {one.groundup}", f"{one.processors} processors"] if one.groundup else []
            about += [f"{name} {version}" for name, version in sorted(one.sandbox.items())]
            say("; ".join(filter(None, (f"{one.name}: {one.problem or 'good'}", ", ".join(about)))))
    said = f"{len(nodes) - len(troubled)} of {len(nodes)} nodes can work"
    say(f"groundup: {said if nodes else 'no node is there; add one with `groundup fleet join`'}")
    return 3 if troubled or not nodes else 0
