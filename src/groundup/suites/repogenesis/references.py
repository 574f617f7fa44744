"""Reference submissions: small correct services of our own, one folder per task in `oracles/`."""

from importlib.resources import as_file, files
from pathlib import Path

from groundup.domain.errors import TaskError
from groundup.trees.copy import copy_tree

_PACKAGE = "groundup.suites.repogenesis"


def oracle_names() -> frozenset[str]:
    """Return the tasks that have one."""
    folder = files(_PACKAGE) / "oracles"
    return frozenset(entry.name for entry in folder.iterdir() if entry.is_dir())


def write_oracle(task: str, destination: Path) -> None:
    """Write the service that solves *task* to the empty folder *destination*. Raises `TaskError`."""
    if task not in oracle_names():
        raise TaskError(f"{task} has no oracle; those that have one: {', '.join(sorted(oracle_names()))}")
    with as_file(files(_PACKAGE) / "oracles" / task) as folder:
        copy_tree(folder, destination)
