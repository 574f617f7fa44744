"""What lies at /workspace before the first published command.

Below lie the files that the published image holds, or plausibly holds; above them what is left of the submission
after the evaluator's deletions. Owns the rules by which Docker's builder copies one over the other.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from groundup.domain.errors import reading_submission
from groundup.domain.names import printable
from groundup.domain.records import Record
from groundup.grading.library.haste import may_be_late
from groundup.grading.library.hidden import HiddenTests
from groundup.suites.nl2repobench.official_rules import PACKAGE_FILES, delete_package_files, delete_test_files
from groundup.suites.nl2repobench.published_image import NOTHING_KNOWN, PublishedImage
from groundup.suites.nl2repobench.recipe import PublishedRun, Recipe
from groundup.trees.walking import remove_tree
from groundup.trees.writer import copy_tree, in_thread


class LaidOut(Record):
    """A workspace, ready to run in, or the reason for which the published evaluator gives up before."""

    workspace: Path
    deleted: tuple[str, ...]
    lent: tuple[str, ...] = ()
    """The original's files for which its package declarations look, and which nobody brings."""
    own: frozenset[str] = frozenset()
    """Python files of the submission that are left of it."""
    refused: str | None = None


class HeldImage(NamedTuple):
    """A published image that is at hand."""

    workspace: Path
    """What it holds at /workspace."""
    run: PublishedRun

    def write(self, destination: Path) -> None:
        shutil.copytree(self.workspace, destination, symlinks=True, dirs_exist_ok=True)

    def lend(self, workspace: Path) -> tuple[str, ...]:
        """Lend nothing: what its declarations look for is there, or it was not there for anybody."""
        return ()

    def may_be_late(self, submission: Path) -> bool:
        """Say that load may fail the tests over *submission*: nobody has read them."""
        return True


class Image(NamedTuple):
    """What the published image of a task is rebuilt of."""

    original: Path
    hidden: HiddenTests
    run: PublishedRun
    known: PublishedImage = NOTHING_KNOWN

    @classmethod
    def of(cls, recipe: Recipe, run: PublishedRun, original: Path) -> "Image":
        return cls(original, recipe.tests, run, recipe.image or NOTHING_KNOWN)

    def write(self, destination: Path) -> None:
        write_image(self, destination)

    def lend(self, workspace: Path) -> tuple[str, ...]:
        return lend_looked_up(self, workspace)

    def may_be_late(self, submission: Path) -> bool:
        return may_be_late(self.hidden, self.original, submission)


async def lay_out(submission: Path, image: Image | HeldImage, scratch: Path) -> LaidOut:
    """Do with *submission* what the published evaluator does before the first command, below *scratch*.

    Raises `SubmissionError` for too large a tree, `TaskError` where a file of the image is not as the recipe says.
    """
    with reading_submission("the submission"):
        return await in_thread(_laid_out, submission, image, scratch)


def _laid_out(submission: Path, image: Image | HeldImage, scratch: Path) -> LaidOut:
    workspace, upper = scratch / "workspace", scratch / "submission"
    workspace.mkdir(parents=True)
    copy_tree(submission, upper)
    try:
        if (problem := archive_problem(upper)) is not None:
            return LaidOut(workspace=workspace, deleted=(), refused=problem)
        deleted = (*delete_package_files(upper), *delete_test_files(upper, image.run.test_files))
        own = frozenset(str(path) for path in _files_and_links(upper) if path.suffix == ".py")
        image.write(workspace)
        refused = overlay(upper, workspace)
        lent = () if refused is not None else image.lend(workspace)
        return LaidOut(workspace=workspace, deleted=deleted, lent=lent, own=own, refused=refused)
    finally:
        remove_tree(upper)


def archive_problem(tree: Path) -> str | None:
    """Say why the evaluator's first step, a zip archive of the submission, fails; None when it does not.

    One dangling link, or one file name that is not UTF-8, ends the evaluation without a score.
    """
    for folder, _, names in os.walk(tree):
        for name in names:
            path = Path(folder, name)
            shown = printable(str(path.relative_to(tree)))[:120]
            try:
                path.stat()
                name.encode()
            except OSError:
                return f"{shown} leads nowhere, so the submission cannot be archived"
            except UnicodeEncodeError:
                return f"the name {shown} is not UTF-8, so the submission cannot be archived"
    return None


def write_image(image: Image, destination: Path) -> None:
    """Write what the published image holds at /workspace, or plausibly holds: tests, their data, declarations.

    These are the listed test files, the paths that the recipe restores, and files outside the packages named like
    package declarations, which the evaluator deletes from submissions and `pip install -e .` needs; what the
    recipe calls generated outside the packages; not what it says the image lacks. Folders that the image has
    elsewhere than the original are moved there. A file whose published form is known has it.
    Raises `TaskError` where a file of the original does not become what the recipe says.
    """
    original, hidden, run, known = image
    packages = {name.partition(".")[0] for name in hidden.packages}
    for name, content in hidden.generated.items():
        place = destination / name
        if not isinstance(content, str) or packages & {*PurePosixPath(name).parts}:
            continue
        (place if name.endswith("/") else place.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            place.write_text(content, encoding="utf-8")
    for name in known.empty:
        (destination / name).parent.mkdir(parents=True, exist_ok=True)
        (destination / name).touch()
    wanted = {_normal(name) for name in (*run.test_files, *hidden.protected, *run.moved.values())}
    absent = {_normal(name) for name in known.absent}
    declared = {path for path, *_ in known.packages.standings()}
    moved = {PurePosixPath(source): PurePosixPath(target) for target, source in run.moved.items()}
    for path in _files_and_links(original):
        lineage = {str(path), *map(str, path.parents)}
        is_declaration = path.name in PACKAGE_FILES and not packages & {*path.parts}
        if is_declaration and known.packages.all_named and str(path) not in declared:
            continue
        if (lineage & wanted or is_declaration or str(path) in declared) and not lineage & absent:
            _copy(original / path, destination / _moved(path, moved), partial(known.content, str(path)))


_LOOKED_UP = re.compile(
    r"(readme|changelog|changes|history|news|licen[cs]e|copying|authors|contributors|notice|version|"
    r"(long_)?description)[\w.-]*",
    re.IGNORECASE,
)
"""Names of files that package declarations read, and that are neither code nor tests."""
_QUOTED = re.compile(rb"""["']([\w.-]+\.(?:rst|md|txt))["']""")


def lend_looked_up(image: Image, workspace: Path) -> tuple[str, ...]:
    """Give *workspace* the original's README, changelog and licence that its declarations name and nobody brings.

    The published declarations do not look for them, in so far as they are known; the others are upstream's, whose
    installation would fail for want of a file that no submission was asked to have. One that the original lacks,
    too, as where it comes from an upload, is empty.
    """
    if image.known.packages.is_proven:
        return ()
    laid = [path for path in _files_and_links(workspace) if path.name in PACKAGE_FILES]
    text = b"\n".join((workspace / path).read_bytes() for path in laid if (workspace / path).is_file())
    read = text.lower()
    lent = []
    for path in sorted(_files_and_links(image.original)):
        target = workspace / path
        if not _LOOKED_UP.fullmatch(path.name) or path.suffix == ".py" or path.name.lower().encode() not in read:
            continue
        if len(path.parts) > 2 or target.exists() or target.is_symlink() or _is_blocked(workspace, path):
            continue
        if (image.original / path).is_file():
            _copy(image.original / path, target)
            lent.append(str(path))
    for name in sorted({found.decode() for found in _QUOTED.findall(text)}):
        target = workspace / name
        if _LOOKED_UP.fullmatch(name) and not target.exists() and not target.is_symlink():
            target.touch()
            lent.append(name)
    return tuple(lent)


def _is_blocked(workspace: Path, path: PurePosixPath) -> bool:
    """Say whether something other than a folder lies above *path*."""
    above = [workspace / one for one in path.parents]
    return any(one.is_symlink() or (one.exists() and not one.is_dir()) for one in above[:-1])


def _moved(path: PurePosixPath, moved: Mapping[PurePosixPath, PurePosixPath]) -> PurePosixPath:
    for source, target in moved.items():
        if path.is_relative_to(source):
            return target / path.relative_to(source)
    return path


def _copy(source: Path, target: Path, changed: Callable[[bytes], bytes] | None = None) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if changed is None or source.is_symlink():
        shutil.copyfile(source, target, follow_symlinks=False)
    else:
        target.write_bytes(changed(source.read_bytes()))
    if not target.is_symlink():
        target.chmod(0o755 if os.access(source, os.X_OK) else 0o644)


def _normal(path: str) -> str:
    return str(PurePosixPath(path))


def overlay(upper: Path, lower: Path) -> str | None:
    """Move everything in *upper* over *lower*, as Docker's builder copies; say what it refuses.

    Folders merge and files replace files; a file or a link never replaces a folder, nor a folder anything else.
    """
    for folder, folders, files in os.walk(upper):
        inside = Path(folder).relative_to(upper)
        for name in folders:
            target = lower / inside / name
            if (Path(folder) / name).is_symlink():
                files.append(name)
            elif target.is_symlink() or target.exists():
                if target.is_symlink() or not target.is_dir():
                    return f"the folder {_shown(inside / name)} cannot replace what the image holds there"
            else:
                target.mkdir()
        for name in files:
            target = lower / inside / name
            if target.is_dir() and not target.is_symlink():
                return f"{_shown(inside / name)} cannot replace the folder that the image holds there"
            (Path(folder) / name).rename(target)
    return None


def _files_and_links(root: Path) -> Iterator[PurePosixPath]:
    for folder, folders, files in os.walk(root):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for name in (*files, *links):
            yield PurePosixPath(Path(folder, name).relative_to(root))


def _shown(path: Path) -> str:
    return printable(str(path))[:120]
