"""`official` in a published image that is at hand as a file."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from groundup.domain.errors import MachineError, TaskError, UsageError
from groundup.domain.limits import Limits
from groundup.domain.tasks import Task
from groundup.episodes.backends import backends
from groundup.grading.context import GradingContext
from groundup.settings import Settings
from groundup.suites.base import Graded
from groundup.suites.nl2repobench.official import NL2RepoOfficialGrader
from groundup.suites.nl2repobench.published import PublishedData, PublishedTask
from groundup.suites.nl2repobench.suite import Nl2RepoBench
from tests.grading.library.laboratory import write_tree
from tests.suites.nl2repobench.trials import Trial
from tests.trees.saved_images import Member, save_image

SHELL = "/.groundup/usr"
SYSTEM: Sequence[Member] = [
    ("bin", (f"{SHELL}/bin",)),
    ("lib", (f"{SHELL}/lib",)),
    ("lib64", (f"{SHELL}/lib64",)),
    ("usr/bin", (f"{SHELL}/bin",)),
]
"""A system in four links: to what sandboxes bring for their own supervisor."""
_VERSION = '[ "$1" = --version ] && exit\n'
PIP = f"#!/bin/sh\n{_VERSION}cp setup.py /usr/local/installed || exit 1\n"
PYTEST = (
    f"#!/bin/sh\n{_VERSION}n=0\n[ -f /usr/local/installed ] && n=1\ngrep -q 'def drive' car.py && n=$((n+1))\n"
    'echo "pytest: $n passed, $LEFT, $(cat test/test_own.py)"\n'
)
PROGRAMS: Sequence[Member] = [
    ("usr/local/bin/pip", PIP),
    ("usr/local/bin/pytest", PYTEST),
    ("workspace/setup.py", "the publishers'"),
    ("workspace/test/test_own.py", "their own"),
]
PUBLISHED = PublishedTask(
    id="autorccar", commands=("pip install -e .", "pytest test"), test_files=("test",), declared=3
)
TASK = Task(
    id="autorccar",
    suite="nl2repobench",
    instruction="Write it.",
    limits=Limits(),
    data_version="781a1da",
    metadata={"declared": 3},
)


async def graded(trial: Trial, tmp_path: Path, submission: Path) -> Graded:
    """Grade *submission* in the image, which no recipe describes."""
    grader = NL2RepoOfficialGrader({}, {"autorccar": PUBLISHED}, "none", has_images=True)
    settings = Settings(cache_dir=tmp_path / "cache")
    async with backends(f"bubblewrap@{tmp_path}/{{task}}.tar", settings) as tools:
        inside = await tools.of(TASK, None)
        (tmp_path / "scratch").mkdir()
        context = inside.context(tmp_path / "scratch", None)
        assert isinstance(context, GradingContext)
        return await grader.grade(TASK, submission, context)


async def test_tests_packages_and_programs_are_the_images(trial: Trial, tmp_path: Path) -> None:
    """Without a recipe: the submission lies over the image's files, its commands run by the image's programs."""
    save_image(tmp_path / "autorccar.tar", SYSTEM, PROGRAMS, environment=["PATH=/usr/local/bin:/bin", "LEFT=x"])
    own = {"car.py": "def drive(): ...\n", "setup.py": "mine", "test/test_own.py": "mine"}
    found = await graded(trial, tmp_path, write_tree(tmp_path / "submission", own))
    verdict = found.verdict
    assert verdict.score is not None
    assert (verdict.score.numerator, verdict.score.denominator) == (2, 3)
    assert verdict.grader.environment == "image"
    assert verdict.facts["test_files"] == "the image's"
    assert "2 passed, x, their own" in found.logs["command-2.txt"].decode()


async def test_the_unpacked_image_is_not_changed(trial: Trial, tmp_path: Path) -> None:
    """What the commands of one attempt install, the next one does not find."""
    save_image(tmp_path / "autorccar.tar", SYSTEM, PROGRAMS, environment=["PATH=/usr/local/bin:/bin"])
    await graded(trial, tmp_path, write_tree(tmp_path / "submission", {"car.py": ""}))
    (root,) = (tmp_path / "cache/layers/image").glob("*/tree")
    assert sorted(path.name for path in (root / "usr/local").iterdir()) == ["bin"]


UNUSABLE = {
    "no workspace": (PROGRAMS[:2], "has no folder /workspace"),
    "no hidden tests": (PROGRAMS[:3], "has none of the task's hidden tests, such as /workspace/test; name"),
    "no programs": (PROGRAMS[2:], r"`pip --version` ends with 127: .*cannot run pip.*; save the published image"),
    "no interpreter": (
        [("usr/local/bin/pip", "#!/usr/local/bin/python3.11\n"), *PROGRAMS[1:]],
        "`pip --version` ends with 127",
    ),
    "a lacking library": (
        [PROGRAMS[0], ("usr/local/bin/pytest", "#!/bin/sh\necho no libpython >&2; exit 3\n"), *PROGRAMS[2:]],
        "`pytest --version` ends with 3: no libpython;",
    ),
}


@pytest.mark.parametrize("fault", UNUSABLE)
async def test_an_image_that_cannot_be_used_gives_no_score(trial: Trial, tmp_path: Path, fault: str) -> None:
    """A layer that is missing, or the image of another task: a zero would be the submission's."""
    members, told = UNUSABLE[fault]
    save_image(tmp_path / "autorccar.tar", SYSTEM, members, environment=["PATH=/usr/local/bin:/bin"])
    with pytest.raises(MachineError, match=told):
        await graded(trial, tmp_path, write_tree(tmp_path / "submission", {"car.py": ""}))


@pytest.mark.parametrize("content", ["", "no archive"])
async def test_a_file_that_is_no_image_gives_no_score(trial: Trial, tmp_path: Path, content: str) -> None:
    """It is said in one sentence, without how each way of reading it failed."""
    (tmp_path / "autorccar.tar").write_text(content)
    with pytest.raises(MachineError, match=r"is no image as .* writes it: [^-]*$"):
        await graded(trial, tmp_path, write_tree(tmp_path / "submission", {"car.py": ""}))


async def test_a_task_whose_image_is_not_there_is_named(trial: Trial, tmp_path: Path) -> None:
    """With one image for each task, those of other tasks go on."""
    with pytest.raises(MachineError, match=r"no sandbox for autorccar: .*is not there; write it with"):
        await graded(trial, tmp_path, write_tree(tmp_path / "submission", {"car.py": ""}))


async def test_an_image_that_changed_since_is_refused(tmp_path: Path) -> None:
    """A run that is resumed grades in the images with which it began."""
    name = f"{tmp_path}/autorccar.tar"
    save_image(Path(name), SYSTEM, PROGRAMS)
    settings = Settings(cache_dir=tmp_path / "cache")
    async with backends(f"bubblewrap@{tmp_path}/{{task}}.tar", settings, {name: "sha256:another"}) as tools:
        with pytest.raises(MachineError, match="another image than when the run began"):
            await tools.of(TASK, None)


async def test_files_are_for_sandboxes_without_an_engine() -> None:
    """An engine has its own images, by names."""
    with pytest.raises(UsageError, match="takes an image's name"):
        async with backends("docker@./base.tar", Settings()):
            pass


def test_tasks_without_recipe_are_gradable_in_images() -> None:
    """Only where images are at hand, and only officially."""
    data = PublishedData(tasks=(PUBLISHED,), version="781a1da")
    assert list(Nl2RepoBench({}, data).gradable()) == []
    suite = Nl2RepoBench({}, data, has_images=True)
    assert list(suite.gradable()) == ["autorccar"]
    assert suite.blocked() == {}
    suite.graders()["official"].check(TASK)
    with pytest.raises(TaskError, match="in its published image alone"):
        suite.graders()["strict"].check(TASK)
