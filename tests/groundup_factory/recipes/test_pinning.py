"""Tests of groundup_factory.recipes.pinning."""

from types import SimpleNamespace
from unittest.mock import AsyncMock

from groundup.registries.pypi.client import PyPIClient
from groundup.registries.pypi.pages import ProjectFile
from groundup.suites.nl2repobench.decisions import TaskDecision
from groundup_factory.recipes.pinning import Specification, choose
from groundup_factory.recipes.project import OriginalProject

INDEX = {
    "one": [("1.0", "2020-05-01", ">=3.6")],
    "two": [("1.0", "2020-05-02", ">=3.6")],
    "three": [("1.0", "2020-06-17", ">=3.6")],
    "sources": [("1.0", "2020-06-01", ""), ("2.0", "2021-06-01", ">=3.6")],
    "pytest": [
        ("7.4.4", "2023-12-31", ">=3.7"),
        ("8.4.1", "2025-06-18", ">=3.9"),
        ("9.0.0", "2025-11-08", ">=3.9"),
    ],
}


def _registry() -> AsyncMock:
    registry = AsyncMock(PyPIClient)
    registry.page.side_effect = lambda name: SimpleNamespace(
        page=SimpleNamespace(
            files=[
                ProjectFile(
                    filename=f"{name}-{version}{'-py3-none-any.whl' if python else '.tar.gz'}",
                    url="",
                    requires_python=python,
                    upload_time=f"{day}T12:00:00Z",
                )
                for version, day, python in INDEX[name]
            ]
        )
    )
    registry.file.side_effect = lambda file: SimpleNamespace(path=file.filename, sha256="feed")
    return registry


async def test_what_is_added_to_old_pins_moves_the_cut_off() -> None:
    """pytest fits the interpreter, and the index of the cut-off date has it."""
    registry = _registry()
    pins = {"one": "1.0", "two": "1.0", "three": "1.0"}

    old = await choose(Specification(python="3.7", pins=pins), OriginalProject(), (), registry, TaskDecision())
    new = await choose(Specification(python="3.12", pins=pins), OriginalProject(), (), registry, TaskDecision())

    assert (old.wants[-1], old.exclude_newer) == ("pytest==7.4.4", "2024-01-01T00:00:00Z")
    assert (new.wants[-1], new.exclude_newer) == ("pytest==8.4.1", "2025-06-19T00:00:00Z")


async def test_a_decided_version_without_a_wheel_is_built_from_source() -> None:
    """The version that a person named stays, where a newer one has a wheel."""
    decision = TaskDecision(add=("sources==1.0", "one==1.0"))
    chosen = await choose(Specification(python="3.7"), OriginalProject(), (), _registry(), decision)

    assert chosen.from_source == {"sources==1.0": "sha256:feed"}
    assert chosen.wants == ("one==1.0", "pytest==7.4.4")


async def test_what_is_left_out_is_not_added_again() -> None:
    """Neither where it was pinned, nor because the project requires it: another package has it in its place."""
    pins = {"one": "1.0", "two": "1.0", "three": "1.0", "sources": "2.0"}
    project = OriginalProject(requires=("sources>=1.0",))
    decision = TaskDecision(leave_out=("sources",))
    chosen = await choose(Specification(python="3.7", pins=pins), project, (), _registry(), decision)
    assert not [line for line in chosen.wants if line.startswith("sources")]
