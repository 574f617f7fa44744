"""Where a submission keeps its packages, when that is not where the original does, such as below `src`.

An installation would find them, but strict grading runs no installer. Looks at names, and at what project files
declare; what is found becomes one more import root, with the rules of all others. A package in a folder of another
name, or in which hidden tests lie, is moved to where the original has it. A module with the version that a build
backend would write is written, too.
"""

import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from groundup.domain.errors import reading_submission
from groundup.grading.library.hidden import HiddenTests
from groundup.sources.files import as_utf8
from groundup.sources.project_files import table_at, toml_of
from groundup.trees.walking import read_regular, remove_tree
from groundup.trees.writer import copy_tree, in_thread

if TYPE_CHECKING:
    from groundup.sources.python_folders import PythonFolders

_PROJECT_FILES = ("pyproject.toml", "setup.cfg", "setup.py")
_LARGEST = 1024 * 1024
_USUAL = ("src", "lib", "python", ".")


@asynccontextmanager
async def graded_layout(
    submission: Path, hidden: HiddenTests, scratch: Path
) -> AsyncIterator[tuple[Path, HiddenTests]]:
    """Yield what `laid_out` returns, while it is graded. Raises as that does."""
    laid, tests = await in_thread(laid_out, submission, hidden, scratch)
    try:
        yield laid, tests
    finally:
        if laid != submission:
            await in_thread(remove_tree, laid)


def laid_out(submission: Path, hidden: HiddenTests, scratch: Path) -> tuple[Path, HiddenTests]:
    """Return *submission* with its packages where tests can import them, and the tests for its layout.

    Raises `SubmissionError` for what cannot be read. A copy lies in *scratch*.
    """
    with reading_submission("the submission"):
        if moved := packages_to_move(submission, hidden):
            submission = with_moved(submission, moved, scratch / f"moved-{secrets.token_hex(4)}")
        return submission, with_version_file(submission, with_own_roots(submission, hidden))


def packages_to_move(submission: Path, hidden: HiddenTests) -> dict[str, str]:
    """Return folders of *submission* that hold packages -> where the original has those.

    These are folders that project files install under another name, and packages in which hidden tests lie: tests
    are restored where the original has them, and belong to the package there.
    """
    names = _missing(submission, hidden)
    if not names or hidden.extensions is not None:
        return {}
    declared = _folders(submission).package_folders
    moved: dict[str, str] = {}
    for name in sorted(names):
        holder = next((root for root in hidden.import_roots if _lie_inside(hidden, root, name)), None)
        named = declared.get(name, "")
        # Below a folder of its own name it can be imported from there.
        places = [named] if holder is not None or PurePosixPath(named).name != name else []
        if holder is not None:
            places += [str(PurePosixPath(folder, name)) for folder in (*_declared_folders(submission), *_USUAL)]
        target = str(PurePosixPath(hidden.import_roots[0] if holder is None else holder, name))
        found = next((place for place in places if place and _can_move(submission, place, target)), None)
        if found is not None:
            moved[found] = target
    return moved


def with_moved(submission: Path, moved: Mapping[str, str], destination: Path) -> Path:
    """Return a copy of *submission*, in the absent folder *destination*, with its packages *moved*; blocks."""
    copy_tree(submission, destination)
    for folder, target in moved.items():
        (destination / target).parent.mkdir(parents=True, exist_ok=True)
        (destination / folder).rename(destination / target)
    return destination


def _lie_inside(hidden: HiddenTests, root: str, name: str) -> bool:
    """Say whether hidden tests lie inside the package *name* below *root*."""
    package = PurePosixPath(root, name)
    return any(package in PurePosixPath(path).parents for path in hidden.protected)


def _can_move(submission: Path, folder: str, target: str) -> bool:
    """Say whether *folder* is a package, outside of *target*, and nothing stands there."""
    pure, place = PurePosixPath(folder), PurePosixPath(target)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or place.is_relative_to(pure):
        return False
    involved = {pure, *pure.parents, place, *place.parents}
    if any((submission / path).is_symlink() for path in involved):
        return False
    above = [submission / path for path in place.parents]
    is_free = not (submission / place).exists() and all(path.is_dir() or not path.exists() for path in above)
    return is_free and (submission / pure / "__init__.py").is_file()


def with_own_roots(submission: Path, hidden: HiddenTests) -> HiddenTests:
    """Return *hidden* with the folder of *submission* that holds the packages, where no import root does.

    Extensions are compiled where the recipe says, so with them the layout is the original's.
    """
    roots, missing = hidden.import_roots, _missing(submission, hidden)
    if not missing or hidden.extensions is not None:
        return hidden
    for folder in dict.fromkeys((*_declared_folders(submission), *_USUAL)):
        if all(_holds(submission / folder, name) for name in missing):
            generated = {_moved(path, roots, missing, folder): text for path, text in hidden.generated.items()}
            child = None if hidden.child_path is None else (*hidden.child_path, folder)
            return hidden.but(import_roots=(*roots, folder), child_path=child, generated=generated)
    return hidden


def with_version_file(submission: Path, hidden: HiddenTests) -> HiddenTests:
    """Return *hidden* with the module that building writes, where *submission* declares one in its package."""
    document = toml_of(as_utf8(_project_files(submission).get("pyproject.toml", b"")))
    scm = table_at(document, "tool", "setuptools_scm")
    vcs = table_at(document, "tool", "hatch", "build", "hooks", "vcs")
    declared = scm.get("version_file") or scm.get("write_to") or vcs.get("version-file")
    names = {name.partition(".")[0] for name in hidden.packages}
    roots = map(PurePosixPath, hidden.import_roots)
    path = PurePosixPath(declared) if isinstance(declared, str) else PurePosixPath()
    inside = any(path.is_relative_to(root / name) for root in roots for name in names)
    guarded = any(path.is_relative_to(place) for place in hidden.protected)
    if path.suffix != ".py" or ".." in path.parts or not inside or guarded:
        return hidden
    own = scm.get("fallback_version")
    known = hidden.distribution.version if hidden.distribution else "0"
    version = own if isinstance(own, str) else known
    numbers = tuple(int(part) if part.isdecimal() else part for part in version.split("."))
    text = f"__version__ = version = {version!r}\n__version_tuple__ = version_tuple = {numbers!r}\n"
    return hidden.but(generated={str(path): text, **hidden.generated})


def _missing(submission: Path, hidden: HiddenTests) -> set[str]:
    """Return the top-level packages that no import root of the original holds."""
    names = {name.partition(".")[0] for name in hidden.packages}
    return {name for name in names if not any(_holds(submission / root, name) for root in hidden.import_roots)}


def _holds(folder: Path, name: str) -> bool:
    return (folder / name / "__init__.py").is_file() or (folder / f"{name}.py").is_file()


def _project_files(submission: Path) -> dict[str, bytes]:
    files = {}
    for name in _PROJECT_FILES:
        if not (submission / name).is_symlink():
            with suppress(OSError):
                files[name] = read_regular(submission / name, _LARGEST)
    return files


def _folders(submission: Path) -> "PythonFolders":
    from groundup.sources.python_folders import (  # for the few that lie elsewhere
        python_project_files,
        read_folders,
    )

    return read_folders(python_project_files(_project_files(submission)))


def _declared_folders(submission: Path) -> list[str]:
    declared = _folders(submission).source_folders
    return [folder for folder in declared if folder and ".." not in PurePosixPath(folder).parts]


def _moved(path: str, roots: tuple[str, ...], names: set[str], folder: str) -> str:
    """Return where a generated file of one of the packages *names* lies below *folder*; others stay."""
    for root in map(PurePosixPath, roots):
        inside = PurePosixPath(path)
        if inside.is_relative_to(root) and inside.relative_to(root).parts[0] in names:
            moved = str(PurePosixPath(folder) / inside.relative_to(root))
            return f"{moved}/" if path.endswith("/") else moved
    return path
