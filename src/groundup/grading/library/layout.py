"""Where a submission keeps its packages, when that is not where the original does, such as below `src`.

An installation would find them, but strict grading runs no installer. Looks at names, and at what project files
declare; what is found becomes one more import root, with the rules of all others. A module with the version that a
build backend would write is written, too.
"""

from contextlib import suppress
from pathlib import Path, PurePosixPath

from groundup.grading.library.hidden import HiddenTests
from groundup.sources.files import SourceFiles, as_utf8
from groundup.sources.project_files import table_at, toml_of
from groundup.trees.walking import read_regular

_PROJECT_FILES = ("pyproject.toml", "setup.cfg", "setup.py")
_LARGEST = 1024 * 1024
_USUAL = ("src", "lib", "python", ".")


def with_own_roots(submission: Path, hidden: HiddenTests) -> HiddenTests:
    """Return *hidden* with the folder of *submission* that holds the packages, where no import root does.

    Extensions are compiled where the recipe says, so with them the layout is the original's.
    """
    roots = hidden.import_roots
    names = {name.partition(".")[0] for name in hidden.packages}
    missing = {name for name in names if not any(_holds(submission / root, name) for root in roots)}
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


def _holds(folder: Path, name: str) -> bool:
    return (folder / name / "__init__.py").is_file() or (folder / f"{name}.py").is_file()


def _project_files(submission: Path) -> dict[str, bytes]:
    files = {}
    for name in _PROJECT_FILES:
        if not (submission / name).is_symlink():
            with suppress(OSError):
                files[name] = read_regular(submission / name, _LARGEST)
    return files


def _declared_folders(submission: Path) -> list[str]:
    from groundup.sources.python_layout import read_project  # for the few that lie elsewhere

    declared = read_project(SourceFiles((), _project_files(submission), whole=True)).source_folders
    return [folder for folder in declared if folder and ".." not in PurePosixPath(folder).parts]


def _moved(path: str, roots: tuple[str, ...], names: set[str], folder: str) -> str:
    """Return where a generated file of one of the packages *names* lies below *folder*; others stay."""
    for root in map(PurePosixPath, roots):
        inside = PurePosixPath(path)
        if inside.is_relative_to(root) and inside.relative_to(root).parts[0] in names:
            moved = str(PurePosixPath(folder) / inside.relative_to(root))
            return f"{moved}/" if path.endswith("/") else moved
    return path
