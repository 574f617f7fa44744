"""`groundup serve`: tasks as environments over HTTP."""

from groundup.api.flags import ServeFlags
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
        ("Go on with the folder of an earlier server", "groundup serve nl2repobench --run-id monday"),
    ),
}


def serve(suite: Suite, flags: ServeFlags, dry_run: DryRun = False) -> int:
    """Serve the tasks of SUITE as environments for reinforcement learning, until ^C.

    One session is one episode in one sandbox, with the tools `bash` and `submit` (docs/serving.md). Each episode
    is an attempt of a run: `groundup report` and `groundup show` work on its folder.
    """
    from groundup.api import serving
    from groundup.cli.console import say

    job = serving.serving(suite, **flags)
    if dry_run:
        offer = job.offer()
        say(f"groundup: {len(offer.every)} tasks as {', '.join(offer.splits)}; the run would be in {job.path}")
        return 0
    listener = serving.listening(flags.get("host"), flags.get("port"), has_token=bool(job.tokens))
    say(f"groundup: the run is in {job.path}")
    with listener:
        serving.serve(job, listener, lambda address: say(f"groundup: serving {job.plan.suite.name} at {address}"))
    say(f"groundup: stopped; `groundup report {job.path}` shows what came of it")
    return 0
