"""`groundup serve` and `view`: tasks as environments over HTTP, and runs in a browser."""

from pathlib import Path
from typing import Annotated

import typer

from groundup.api.flags import Host, Port, ServeFlags
from groundup.cli.options import DryRun, Examples, Suite

EXAMPLES: dict[str, Examples] = {
    "serve": (
        ("Tasks for a trainer on this machine", "groundup serve nl2repobench --slots 16"),
        (
            "Some tasks, as the split `train`",
            "groundup serve nl2repobench --tasks sqlparse,tenacity --split train",
        ),
        ("For other machines, with a token", "groundup serve dibench --host 0.0.0.0 --token $TOKEN"),
        ("Several submits, each with a reward", "groundup serve nl2repobench --submits 3"),
        ("Grade on other machines", "groundup serve nl2repobench --slots 64 --workers fleet.json"),
        ("Go on with the folder of an earlier server", "groundup serve nl2repobench --run-id monday"),
    ),
    "view": (
        ("The runs of this project", "groundup view"),
        ("Those of another folder", "groundup view .demo/runs"),
        ("Two runs compared", "groundup view model-a model-b"),
        ("As a static site, to send or to publish", "groundup view model-a model-b --bundle site"),
        ("From another machine", "groundup view --host 0.0.0.0 --token $TOKEN"),
    ),
}


def serve(suite: Suite, flags: ServeFlags, dry_run: DryRun = False) -> int:
    """Serve the tasks of SUITE as environments for reinforcement learning, until ^C.

    One session is one episode in one sandbox, with the tools `bash` and `submit` (docs/serving.md). Each episode
    is an attempt of a run: `groundup report` and `groundup show` work on its folder.
    """
    from groundup.api import serving
    from groundup.cli.console import say

    job = serving.preflight(serving.serving(suite, **flags))
    for notice in serving.notices(job):
        say(f"groundup: {notice}")
    offered = len(job.offer().every)
    if dry_run:
        say(f"groundup: {offered} tasks as {', '.join(job.splits)}; the run would be in {job.path}")
        return 0
    listener = serving.listening(flags.get("host"), flags.get("port"), has_token=bool(job.tokens))
    say(f"groundup: the run is in {job.path}")
    with listener:
        about = f"serving {job.plan.configuration.suite} at"
        told = f"{offered} tasks by {serving.doors()}"
        serving.serve(job, listener, lambda address: say(f"groundup: {about} {address}: {told}"))
    say(f"groundup: stopped; `groundup report {job.path}` shows what came of it")
    return 0


def view(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUNS...", help="A folder of runs (default: the setting output), or runs to open."),
    ] = None,
    host: Host = None,
    port: Port = None,
    token: Annotated[
        str | None, typer.Option(help="Secret that browsers must give as ?token=... in the address.")
    ] = None,
    bundle: Annotated[
        Path | None,
        typer.Option(
            metavar="SITE",
            help="Write the pages into this folder instead, as a static site: no server, nothing to install.",
        ),
    ] = None,
    trajectories: Annotated[
        bool, typer.Option("--trajectories", help="With --bundle: what agents did as well, turn by turn.")
    ] = False,
) -> int:
    """Show and compare runs in a browser: scores, tasks, trajectories, files, tests and logs.

    Works without network; stop it with ^C. Needs an extra (docs/guide-compare.md).
    """
    from groundup.api.viewing import bundle as write_site
    from groundup.api.viewing import view as serve
    from groundup.cli.console import UNFIT, say
    from groundup.domain.errors import UsageError

    if bundle is not None:
        site = write_site(*(runs or ()), site=bundle, trajectories=trajectories)
        say(f"groundup: {site.pages} pages, {site.bytes / 1e6:.1f} MB; open {site.index}")
        if site.left_out:
            say(f"groundup: {site.left_out} lists of tests are left out, so that each run has at most 3 MB")
        for unfit in site.unfit:
            say(f"groundup: {unfit}")
        return UNFIT if site.unfit else 0
    if trajectories:
        raise UsageError("--trajectories goes with --bundle; the pages of a server have them anyway")

    serve(
        *(runs or ()),
        host=host,
        port=port,
        token=token,
        ready=lambda address: say(f"groundup: runs are at {address}"),
    )
    return 0
