"""The reference services that come with the suite."""

import ast
from pathlib import Path

import pytest

from groundup.domain.errors import TaskError
from groundup.grading.java.installing import project_files
from groundup.grading.services.install import find_java_start, find_start, read_declared
from groundup.suites.repogenesis.tasks import (
    ServiceProblem,
    is_valid,
    oracle_names,
    shipped_tasks,
    write_oracle,
    write_reference,
)


def oracles_in(language: str) -> list[str]:
    """Return the tasks in *language* that have one."""
    return sorted(name for name in oracle_names() if shipped_tasks()[name].language == language)


def test_every_task_with_tests_has_one() -> None:
    """Those of flawed tasks know what their READMEs do not say, and the task says how much they can pass."""
    tasks = shipped_tasks()
    flawed = {name for name in oracles_in("python") if not is_valid(tasks[name].flags)}

    assert oracle_names() == {task.id for task in tasks.values() if task.tests.count}
    assert flawed == {
        "Blog", "Customization", "StructuredDataConvertor", "UserManagement", "UserManagement_2",
        "WebPan", "flask", "synapse",
    }  # fmt: skip
    for task in tasks.values():
        unpassable = [flag.reason for flag in task.flags if flag.kind == "unpassable"]
        assert bool(unpassable) == bool(task.tests.unpassable), task.id
        assert all(f"{task.tests.most} of {task.tests.count} is the most" in reason for reason in unpassable)


@pytest.mark.parametrize("name", oracles_in("java"))
def test_each_java_one_has_build_files_and_a_start(name: str, tmp_path: Path) -> None:
    """Maven can build it, and the search finds what starts it."""
    write_oracle(name, tmp_path)

    assert set(project_files(tmp_path)) == {"pom.xml"}
    assert find_java_start(tmp_path) is not None


@pytest.mark.parametrize("name", oracles_in("python"))
def test_each_can_be_installed_and_started(name: str, tmp_path: Path) -> None:
    """It declares what it needs by name, the search finds how to start it, and Python can read it."""
    write_oracle(name, tmp_path)
    declared = read_declared(tmp_path)

    assert declared is not None
    assert declared.problem is None
    assert declared.requirements
    assert find_start(tmp_path, shipped_tasks()[name].port) is not None
    for path in tmp_path.rglob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 10))


@pytest.mark.parametrize("name", sorted(oracle_names()))
def test_each_has_a_start_script(name: str, tmp_path: Path) -> None:
    """As every subject is asked for one; the older scripts try nothing without it."""
    write_oracle(name, tmp_path)

    assert any(
        path.relative_to(tmp_path).parts[0] in ("start.sh", "scripts", "bin")
        for path in tmp_path.rglob("start.sh")
    )


def test_ours_lie_beside_the_given_readme(tmp_path: Path) -> None:
    """As in every subject's workspace: hidden tests of synapse read it."""
    write_reference(ServiceProblem(task=shipped_tasks()["synapse"], readme="# Synapse"), tmp_path)

    assert (tmp_path / "README.md").read_text() == "# Synapse"


def test_a_task_without_one_says_which_have_one(tmp_path: Path) -> None:
    """The error lists the choices."""
    with pytest.raises(TaskError, match="mail_service"):
        write_oracle("simple-rbac-service", tmp_path)
