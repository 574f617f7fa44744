"""`groundup view`: runs in a browser."""

from pathlib import Path
from typing import Annotated

import typer

from groundup.cli.options import Examples

EXAMPLES: dict[str, Examples] = {
    "view": (
        ("The runs of this project", "groundup view"),
        ("Those of another folder", "groundup view .demo/runs"),
        ("From another machine", "groundup view --host 0.0.0.0 --token $TOKEN"),
    ),
}


def view(
    folder: Annotated[Path | None, typer.Argument(help="A folder of runs; default: the output folder.")] = None,
    host: Annotated[
        str | None, typer.Option(help="The address to listen at; others than loopback need --token.")
    ] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Default 8080; 0 takes a free one.")] = None,
    token: Annotated[
        str | None, typer.Option(help="What browsers must know, as ?token=... in the address.")
    ] = None,
) -> int:
    """Show runs in a browser: scores, tasks, trajectories, files, tests and logs, and two runs compared.

    Works without a network. Ends with ^C.
    """
    from groundup.api.viewing import view as serve
    from groundup.cli.console import say

    serve(folder, host=host, port=port, token=token, ready=lambda address: say(f"groundup: runs are at {address}"))
    return 0
