"""What the oracle hands in, and what a set of services holds: tasks, and a reference of each.

tasks/<id>/README.md, task.toml, tests/
references/<id>/                          what the oracle hands in
"""

from importlib.resources import as_file, files
from pathlib import Path

from groundup.domain.errors import TaskError
from groundup.suites.repogenesis.data import ServiceProblem, read_dataset
from groundup.suites.sets import checked_set, is_set, read_manifest
from groundup.trees.writer import copy_tree

_PACKAGE = "groundup.suites.repogenesis"
TASKS = "tasks"
REFERENCES = "references"


def brings_all(folder: Path) -> bool:
    """Whether the data in *folder* is a set, beside which there are no published tasks."""
    return is_set(folder)


def read_services(folder: Path) -> tuple[dict[str, ServiceProblem], str]:
    """Return the tasks of the data in *folder*, those of a set with their references, and the data's version.

    Raises `UsageError`.
    """
    found = read_dataset(folder / TASKS if is_set(folder) else folder)
    problems = {one.task.id: one for one in found.problems}
    if not is_set(folder):
        return problems, found.version
    references = {name: one.but(reference=folder / REFERENCES / name) for name, one in problems.items()}
    return references, read_manifest(folder).label


def checked_services(folder: Path) -> str:
    """Return which release the data in *folder* is, with the files of a set as it says. Raises `UsageError`."""
    if is_set(folder):
        checked_set(folder, "service")
    return read_services(folder)[1]


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


def write_reference(problem: ServiceProblem, destination: Path) -> None:
    """Write the service that *problem* brings, else our own, to the empty *destination*. Raises `TaskError`."""
    if problem.reference is not None:
        copy_tree(problem.reference, destination)
    else:
        write_oracle(problem.task.id, destination)
