"""What the published evaluator's container holds at /workspace, laid out on this machine.

Below lie the files that the published image plausibly holds, above them what is left of the submission after the
evaluator's deletions. Owns the rules by which Docker's builder copies one over the other.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from groundup.domain.records import Record
from groundup.grading.library.hidden import HiddenTests
from groundup.suites.nl2repobench.official_rules import PACKAGE_FILES, delete_package_files, delete_test_files
from groundup.suites.nl2repobench.recipe import PublishedRun
from groundup.trees.copy import copy_tree
from groundup.trees.limits import printable
from groundup.trees.removal import remove_tree


class LaidOut(Record):
    """A workspace, ready to run in, or the reason for which the published evaluator gives up before."""

    workspace: Path
    deleted: tuple[str, ...]
    refused: str | None = None


def lay_out(submission: Path, original: Path, hidden: HiddenTests, run: PublishedRun, scratch: Path) -> LaidOut:
    """Do with *submission* what the published evaluator does before the first command, below *scratch*.

    Raises `SubmissionError` for too large a tree.
    """
    workspace, upper = scratch / "workspace", scratch / "submission"
    workspace.mkdir(parents=True)
    copy_tree(submission, upper)
    try:
        if (problem := archive_problem(upper)) is not None:
            return LaidOut(workspace=workspace, deleted=(), refused=problem)
        deleted = (*delete_package_files(upper), *delete_test_files(upper, run.test_files))
        write_image(original, hidden, run, workspace)
        return LaidOut(workspace=workspace, deleted=deleted, refused=overlay(upper, workspace))
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


def write_image(original: Path, hidden: HiddenTests, run: PublishedRun, destination: Path) -> None:
    """Write what the published image plausibly holds at /workspace: tests, their data, package declarations.

    These are the listed test files, the paths that the recipe restores, and files at the root named like package
    declarations, which the evaluator deletes from submissions and `pip install -e .` needs; not what the recipe
    says to be absent. Folders that the image has elsewhere than the original are moved there.
    """
    wanted = {_normal(name) for name in (*run.test_files, *hidden.protected, *run.moved.values())} | PACKAGE_FILES
    absent = {_normal(name) for name in hidden.absent}
    moved = {PurePosixPath(source): PurePosixPath(target) for target, source in run.moved.items()}
    for path in _files_and_links(original):
        lineage = {str(path), *map(str, path.parents)}
        if lineage & wanted and not lineage & absent:
            _copy(original / path, destination / _moved(path, moved))


def _moved(path: PurePosixPath, moved: Mapping[PurePosixPath, PurePosixPath]) -> PurePosixPath:
    for source, target in moved.items():
        if path.is_relative_to(source):
            return target / path.relative_to(source)
    return path


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target, follow_symlinks=False)
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
