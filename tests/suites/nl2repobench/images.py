"""A tiny library with its published image, graded officially and strictly side by side, in real sandboxes."""

import compileall
import ensurepip
import shutil
import sys
import sysconfig
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

from typing_extensions import override

from groundup.domain.tasks import Task
from groundup.environments.builder import EnvironmentBuilder
from groundup.environments.requests import (
    ENVIRONMENT_TARGET,
    PYTHON_TARGET,
    AnySource,
    EditedSource,
    Layer,
    PythonEnvironment,
    PythonRequest,
)
from groundup.environments.sources import write_edits
from groundup.grading.context import GradingContext
from groundup.grading.library.hidden import FalseRecord, HiddenTests, NumberedTest
from groundup.sandbox.protocol import Mount, SandboxProvider
from groundup.suites.base import Graded
from groundup.suites.nl2repobench.official import Installs, NL2RepoOfficialGrader
from groundup.suites.nl2repobench.published_image import PublishedImage
from groundup.suites.nl2repobench.recipe import Frozen, PublishedRun, Recipe, RecipeEnvironment, RecipeSource
from groundup.suites.nl2repobench.strict import NL2RepoFullGrader, NL2RepoStrictGrader
from groundup.trees.walking import remove_tree
from tests.grading.library.laboratory import write_tree

_TESTERS = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
_PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"


def bundled_pip() -> Path | None:
    """Return the wheel of pip that comes with this interpreter; None where a system has taken it out."""
    return next(iter((Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl")), None)


def write_environment(tree: Path) -> Path:
    """Write an environment that can be copied: the pytest of these tests, and pip, compiled as layers are."""
    packages = tree / "lib" / _PYTHON / "site-packages"
    packages.mkdir(parents=True)
    for name in _TESTERS:
        for file in distribution(name).files or ():
            source = Path(str(file.locate()))
            if ".." not in file.parts and "__pycache__" not in file.parts and source.is_file():
                (packages / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, packages / file)
    write_tree(
        tree,
        {
            "pyvenv.cfg": f"home = {PYTHON_TARGET}/bin\ninclude-system-site-packages = false\n",
            "bin/pytest": _script("pytest", "main"),
            "bin/pip": _script("pip._internal.cli.main", "main"),
        },
    )
    for name in ("pytest", "pip"):
        (tree / "bin" / name).chmod(0o755)
    (tree / "bin/python").symlink_to(f"{PYTHON_TARGET}/bin/{_PYTHON}")
    if (wheel := bundled_pip()) is not None:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(packages)
    compileall.compile_dir(packages, quiet=2)
    return tree


def _script(module: str, function: str) -> str:
    return (
        f"#!{ENVIRONMENT_TARGET}/bin/python\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n"
    )


class ImageBuilder(EnvironmentBuilder):
    """Hands out one environment, and an original written by the test."""

    def __init__(self, environment: Path, original: Path) -> None:
        self._environment = environment
        self._original = original

    @override
    async def python(self, request: PythonRequest) -> PythonEnvironment:
        """Return the environment, whatever is asked for."""
        return PythonEnvironment(
            layer=Layer(digest="sha256:0", kind="python", path=self._environment),
            mounts=(
                Mount(source=Path(sys.base_prefix), target=PYTHON_TARGET),
                Mount(source=self._environment, target=ENVIRONMENT_TARGET),
            ),
            path=(f"{ENVIRONMENT_TARGET}/bin",),
            python_version=sys.version.split()[0],
            environment={"LD_LIBRARY_PATH": f"{PYTHON_TARGET}/lib"}
            if sysconfig.get_config_var("Py_ENABLE_SHARED")
            else {},
        )

    @override
    async def source(self, request: AnySource) -> Layer:
        """Return the original, or a copy with the edits that are asked for."""
        if not isinstance(request, EditedSource):
            return Layer(digest="sha256:1", kind="source", path=self._original)
        edited = self._original.with_name("edited")
        if not edited.exists():
            shutil.copytree(self._original, edited)
            write_edits(edited, request.edits)
        return Layer(digest="sha256:2", kind="source", path=edited)

    @override
    def identity(self) -> Mapping[str, str]:
        """Return nothing."""
        return {}


@dataclass(frozen=True)
class Published:
    """A task: its original, what its recipe says of the tests, and what the publishers give."""

    original: Mapping[str, str]
    hidden: HiddenTests
    expected: frozenset[str]
    declared: int
    commands: tuple[str, ...] = ("pytest --continue-on-collection-errors tests",)
    listed: tuple[str, ...] = ("tests",)
    twin: FalseRecord | None = None
    image: PublishedImage | None = None

    @property
    def recipe(self) -> Recipe:
        """The recipe that both graders take."""
        return Recipe(
            task="calc",
            source=RecipeSource(name="calc-lab", version="1.2.3", sha256="0" * 64, licence="MIT"),
            environment=RecipeEnvironment(
                python="3.11",
                exclude_newer="2025-01-01T00:00:00Z",
                wants=("pytest",),
                lock={"pytest==9.0.0": ("sha256:" + "0" * 64,)},
            ),
            tests=self.hidden,
            declared={"781a1da": self.declared},
            published=PublishedRun(commands=self.commands, test_files=self.listed),
            frozen=Frozen(pytest="9.0.0", runs=3, duration_s=1, peak_memory_mb=60, original_lines=12),
            expected=frozenset(map(NumberedTest, self.expected)),
            twin=self.twin,
            image=self.image,
        )

    @property
    def task(self) -> Task:
        """The task as a run gets it."""
        metadata: dict[str, str | int | float | bool | None] = {"declared": self.declared}
        return Task(id="calc", suite="nl2repobench", instruction=None, data_version="781a1da", metadata=metadata)


@dataclass(frozen=True)
class Laboratory:
    """Grades the same submission with both graders."""

    provider: SandboxProvider
    environment: Path
    folder: Path

    async def official(
        self,
        published: Published,
        submission: Path,
        *,
        timeout_s: float | None = None,
        installs: Installs = "none",
    ) -> Graded:
        """Grade as published; pip fetches nothing unless the test says so."""
        grader = NL2RepoOfficialGrader({"calc": published.recipe}, {}, installs)
        return await grader.grade(published.task, submission, self.context(published, timeout_s))

    async def strict(self, published: Published, submission: Path, *, deep: bool = False) -> Graded:
        """Grade strictly. *deep*: check all tests that pass."""
        kind = NL2RepoFullGrader if deep else NL2RepoStrictGrader
        grader = kind({"calc": published.recipe})
        return await grader.grade(published.task, submission, self.context(published))

    def submission(self, files: Mapping[str, str], links: Mapping[str, str] | None = None) -> Path:
        """Write a submission of *files* and symbolic *links*."""
        root = write_tree(self.folder / "submission", files)
        for name, target in (links or {}).items():
            (root / name).symlink_to(target)
        return root

    def context(self, published: Published, timeout_s: float | None = None) -> GradingContext:
        """Return tools around a new folder, with the original of *published*."""
        original = self.folder / "original"
        if not original.exists():
            write_tree(original, published.original)
        scratch = self.folder / "scratch"
        remove_tree(scratch)
        scratch.mkdir()
        builder = ImageBuilder(self.environment, original)
        return GradingContext(provider=self.provider, builder=builder, scratch=scratch, timeout_s=timeout_s)


def rate(graded: Graded) -> float:
    """Return the main score's value."""
    assert graded.verdict.score is not None
    assert graded.verdict.score.value is not None
    return graded.verdict.score.value
