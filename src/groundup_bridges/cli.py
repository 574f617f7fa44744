"""`groundup harbor`: tasks as Harbor's folders, and its jobs as runs. `groundup image`: images of this machine."""

from pathlib import Path
from typing import Annotated

import typer

from groundup.api.flags import Grader, Output, Tasks
from groundup.cli.options import Examples, Json, Suite
from groundup_bridges.flags import HarborFlags

EXAMPLES: dict[str, Examples] = {
    "image build": (
        ("A base image without a daemon", "groundup image build base/"),
        ("Under a name of yours", "groundup image build base/ --name example/base"),
        ("With Git and a compiler, for agents", "groundup image build base/ --with git,gcc,make"),
    ),
    "harbor export": (
        (
            "Two tasks with their images",
            "groundup harbor export nl2repobench -o tasks/ --tasks sqlparse,jsonlines",
        ),
        (
            "For a registry, on a base image of your own",
            "groundup harbor export nl2repobench -o tasks/ --registry $HOST/groundup --base python.tar",
        ),
        (
            "For an engine that cannot pull Harbor's own container",
            "groundup harbor export nl2repobench -o tasks/ --network-mode none",
        ),
    ),
    "harbor import": (
        ("A job's folder", "groundup harbor import jobs/2026-11-20__10-00-00"),
        ("All jobs, under a name", "groundup harbor import jobs/ --run-id harbor"),
    ),
}


def image_build(
    output: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the image goes; absent or empty.")],
    name: Annotated[str, typer.Option(help="The image's name; its tag comes from its digest.")] = "groundup/base",
    packages: Annotated[
        str | None,
        typer.Option("--with", metavar="PACKAGES", help="Debian's packages of this machine that it has, too."),
    ] = None,
    json: Json = False,
) -> int:
    """Write a base image with the programs that sandboxes show, as they are on this machine, as an OCI layout.

    No daemon, no root and no network are needed. `--agent-base` takes its folder; `--sandbox docker --image` takes
    it once it is loaded (docs/sandbox.md).
    """
    from groundup.api.flags import names
    from groundup.cli.console import print_document, say
    from groundup_bridges.base_image import build_base

    reference = build_base(name, output, names(packages, "--with") or ())
    if json:
        print_document({"folder": str(output), "image": reference})
    say(f"groundup: {reference} lies in {output}; load it with `tar -C {output} -c . | docker load`")
    return 0


def export(
    suite: Suite,
    flags: HarborFlags,
    output: Annotated[
        Path, typer.Option("--to", "-o", metavar="FOLDER", help="Where the tasks go; absent or empty.")
    ],
    tasks: Annotated[Tasks, "Only these tasks or groups; can be repeated."] = None,
    grader: Annotated[Grader, "Who decides (default: the suite's grader)."] = None,
    json: Json = False,
) -> int:
    """Write tasks of SUITE as folders that Harbor runs, each with an image for agents and one for the verifier.

    No daemon and no root are needed. Agents' images hold no answers; verifiers' hold grader and hidden tests
    (docs/harnesses.md). `groundup export harbor` is the same.
    """
    from groundup.api.flags import names
    from groundup.cli.console import print_document, say
    from groundup_bridges.api import export_tasks
    from groundup_bridges.harbor_export import HarborOptions

    allowed = names(flags.get("allow"), "--allow") or ()
    options = HarborOptions.model_validate({**flags, "allow": allowed})
    written = export_tasks(
        suite,
        output,
        tasks=tasks,
        grader=grader,
        options=options,
        report=lambda task, folder: say(f"groundup: {task.id} lies in {folder}"),
    )
    if json:
        print_document({"folder": str(output), "tasks": [folder.name for folder in written]})
    say(f"groundup: tasks written: {len(written)}; `harbor run -p {output}` runs them once images are loaded")
    return 0


def import_jobs(
    jobs: Annotated[Path, typer.Argument(metavar="JOBS", help="A job's folder, or a folder of jobs.")],
    run_id: Annotated[str | None, typer.Option(help="The run's name (default: as the folder).")] = None,
    output: Output = None,
    json: Json = False,
) -> int:
    """Read what Harbor's JOBS found into runs, one for each agent and model: rewards, trees, trajectories.

    `groundup report`, `show` and `regrade` work on them. `groundup import harbor` is the same.
    """
    from groundup.cli.console import print_document, say
    from groundup_bridges.api import import_jobs

    written = import_jobs(jobs, run_id=run_id, output=output)
    if json:
        print_document({"runs": [str(path) for path in written]})
    for path in written:
        say(f"groundup: the run is in {path}; `groundup report {path}` shows it")
    return 0
