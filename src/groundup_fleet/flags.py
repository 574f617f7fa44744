"""The flags of `groundup fleet up`. Importing this module imports nothing heavy, for help reads it."""

from typing import Annotated, TypedDict

from groundup.api.flags import AnyPath, FlagHelp, Names, Time

Slots = Annotated[int | None, FlagHelp("Attempts at once on a node (default: its processors).", "Nodes", least=1)]
MemoryMb = Annotated[
    int | None,
    FlagHelp(
        "Memory of a node's attempts, in MiB (default: its share by the setting memory_share).", "Nodes", least=1
    ),
]


class FleetFlags(TypedDict, total=False):
    """Which nodes a fleet begins with, and where its scheduler is."""

    local: Annotated[int, FlagHelp("Nodes on this machine.", "Nodes", least=0)]
    ssh: Annotated[Names, FlagHelp("A node on each of these hosts, by `ssh`.", "Nodes", metavar="HOSTS")]
    slurm: Annotated[int, FlagHelp("Nodes as jobs of Slurm.", "Nodes", least=0)]
    slurm_option: Annotated[
        Names,
        FlagHelp("An option for `sbatch`, such as --time=08:00:00; can be repeated.", "Nodes", metavar="WORD"),
    ]
    minimum: Annotated[
        int | None,
        FlagHelp("Nodes that stay when there is nothing to do (default: all).", "Nodes", least=0),
    ]
    program: Annotated[str, FlagHelp("What groundup is called on other machines.", "Nodes")]
    slots: Slots
    memory_mb: MemoryMb
    host: Annotated[str, FlagHelp("Where others reach the scheduler (default: 127.0.0.1).", "Scheduler")]
    port: Annotated[int, FlagHelp("Default: a free one.", "Scheduler", least=0)]
    address_file: Annotated[AnyPath | None, FlagHelp("Where address and keys are written.", "Scheduler")]
    no_keys: Annotated[bool, FlagHelp("Neither keys nor encryption; on loopback only.", "Scheduler")]
    lost_after: Annotated[
        Time,
        FlagHelp(
            "Silence after which a node counts as lost, such as 2m (default: 60s).",
            "Scheduler",
            metavar="TIME",
            least=1,
        ),
    ]
