"""Installing what a submission declares before its service starts, and finding the command that starts it.

A failed install is a fact and no end: the service is then started in the fallback environment.
"""

import asyncio
import codecs
import itertools
import posixpath
import re
import shlex
import time
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from packaging.requirements import InvalidRequirement, Requirement
from pydantic import Field

from groundup.domain.errors import SubmissionError, UsageError, reading_submission
from groundup.domain.names import printable
from groundup.domain.records import Record
from groundup.domain.steps import at_step
from groundup.environments.failures import OutOfTimeError
from groundup.environments.requests import PythonEnvironment, PythonRequest, ResolvedRequest
from groundup.grading.context import GradingContext
from groundup.grading.services.records import InstallOutcome, Lifecycle
from groundup.languages.formats import format_of
from groundup.languages.python.requirement import render_requirement
from groundup.manifests.records import DependencyKind
from groundup.sandbox.protocol import WORKSPACE
from groundup.trees.walking import is_file_inside, read_regular

_SCRIPTS = ("start.sh", "scripts/start.sh", "bin/start.sh")
_PROGRAMS = ("app.py", "main.py", "run.py", "manage.py", "server.py")
_MODULES = ("main", "app", "server", "api")
NO_SCRIPT = "nothing to start: no start.sh down to the third level"
NO_PYTHON_START = f"{NO_SCRIPT}, and at the top none of {', '.join(_PROGRAMS)} and api.py"
NO_JAVA_START = f"{NO_SCRIPT}, and no pom.xml at the top"
_DEPTH = 3
_READ_BYTES = 64 * 1024
_INSTALLERS = re.compile(rb"(?<![\w.-])(pip3?|uv|poetry|pipenv|pdm|virtualenv|venv|conda)(?![\w.-])")
_INSTALLS = re.compile(
    rb"\bpip3?[\s\"',]+install\b|-m[\s\"',]+(?:pip|venv)\b|\b(?:ensurepip|(?:import|from) (?:pip|venv))\b"
)
"""As a program in Python says it."""
_MOST_FILES = 50
_MOST_SOURCES = 500


class StartCommand(Record):
    """How a service is started, and what was found."""

    found: str = Field(description="a file, or the module guess")
    argv: tuple[str, ...]
    installs: bool = Field(default=False, description="whether what starts it speaks of an installer")


@reading_submission("what starts the service")
def find_start(tree: Path, port: int) -> StartCommand | None:
    """Return the command that starts the service in *tree*; None when there is nothing to start.

    Order: start.sh in the root, in scripts/, in bin/, elsewhere down to the third level (the shallowest, then the
    first by name); app.py, main.py, run.py, manage.py, server.py; uvicorn with main, app, server, api. Links that
    stay inside are what they lead to. Raises `SubmissionError` for what cannot be read.
    """
    script = start_script(tree)
    installs = speaks_of(_INSTALLS, tree, "*.py")
    if script is not None:
        installs = installs or speaks_of(_INSTALLERS, tree, "*.sh")
        return StartCommand(found=script, argv=("bash", f"./{script}"), installs=installs)
    for name in _PROGRAMS:
        if is_file_inside(tree / name, tree):
            more = ("runserver", f"0.0.0.0:{port}") if name == "manage.py" else ()
            return StartCommand(found=name, argv=("python", name, *more), installs=installs)
    modules = [name for name in _MODULES if is_file_inside(tree / f"{name}.py", tree) or (tree / name).is_dir()]
    if modules:
        return StartCommand(found="uvicorn", argv=("sh", "-c", _guess(modules, port)))
    return None


def start_script(tree: Path) -> str | None:
    """Return the start script of the published search."""
    for name in _SCRIPTS:
        if is_file_inside(tree / name, tree):
            return name
    found: list[PurePosixPath] = []
    for depth in range(1, _DEPTH):
        files = (path for path in tree.glob("*/" * depth + "start.sh") if is_file_inside(path, tree))
        found += [PurePosixPath(path.relative_to(tree)) for path in files]
    found.sort(key=lambda path: (len(path.parts), str(path)))
    return str(found[0]) if found else None


def _guess(modules: list[str], port: int) -> str:
    tries = " ".join(map(shlex.quote, modules))
    return (
        f"for module in {tries}; do "
        'if python -c "import $module" 2>/dev/null; then '
        f'exec python -m uvicorn "$module:app" --host 0.0.0.0 --port {port}; fi; done; '
        f"echo 'none of {tries} can be imported' >&2; exit 3"
    )


def speaks_of(words: re.Pattern[bytes], tree: Path, pattern: str) -> bool:
    """Whether *words* stand in files like *pattern*, one of which may call another: that only decides an offer."""
    found = (path for depth in range(_DEPTH) for path in sorted(tree.glob("*/" * depth + pattern)))
    for path in itertools.islice((path for path in found if is_file_inside(path, tree)), _MOST_FILES):
        with path.open("rb") as file:
            if words.search(file.read(_READ_BYTES)):
                return True
    return False


_WORD = re.compile(rb"(?<![\w.])[A-Za-z_][A-Za-z0-9_.]{0,99}")
_MOST_WORDS = 50_000


def words_of(tree: Path) -> tuple[str, ...]:
    """Return what may be names of modules in the sources of *tree*: which bytecode is made at once hangs on it."""
    found: set[bytes] = set()
    files = (path for kind in ("py", "sh", "toml", "cfg", "ini") for path in sorted(tree.rglob(f"*.{kind}")))
    for path in itertools.islice((path for path in files if is_file_inside(path, tree)), _MOST_SOURCES):
        with path.open("rb") as file:
            found.update(_WORD.findall(file.read(_READ_BYTES)))
        if len(found) > _MOST_WORDS:
            break
    return tuple(sorted(word.decode("ascii") for word in found))


_MAVEN = re.compile(rb"(?<![\w.-])(mvnw?|maven|gradlew?)(?![\w-])")


@reading_submission("what starts the service")
def find_java_start(tree: Path) -> StartCommand | None:
    """Return the command that starts the service in *tree*; None when there is nothing to start.

    A start script where Python's is looked for, else Maven runs what pom.xml says is a Spring Boot application.
    Raises `SubmissionError` for what cannot be read.
    """
    script = start_script(tree)
    if script is not None:
        found = speaks_of(_MAVEN, tree, "*.sh")
        return StartCommand(found=script, argv=("bash", f"./{script}"), installs=found)
    if is_file_inside(tree / "pom.xml", tree):
        return StartCommand(found="pom.xml", argv=("mvn", "spring-boot:run", "-q"), installs=True)
    return None


FILE = "requirements.txt"
_MAX_BYTES = 1024 * 1024
_MAX_FILES = 20
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_INCLUDE = re.compile(r"(?:-r|--requirement)(?:\s*=?\s*)(?P<target>.+)$")
_CONSTRAINT = re.compile(r"(?:-c|--constraint)(?:\s*=?\s*)(?P<target>.+)$")
_LOCAL = re.compile(r"(?:(?:-e|--editable)[\s=]*)?(?:file:)?(?P<folder>\.[\w./-]*)(?:\[(?P<extras>[^\]]*)\])?")
_COMMENT = re.compile(r"(^|\s+)#.*$")
_FIRST_WORD = re.compile(r"[=\s]")
_OPTION = re.compile(r"\s+--?[A-Za-z].*$")
_IGNORED = ("-i", "--index-url", "--extra-index-url", "--no-index", "-f", "--find-links", "--trusted-host",
            "--pre", "--prefer-binary", "--no-binary", "--only-binary", "--require-hashes", "--use-feature",
            "--no-cache-dir", "--timeout")  # fmt: skip


class Declared(Record):
    """What a submission declares to need."""

    requirements: tuple[str, ...] = ()
    import_folders: tuple[str, ...] = Field(
        default=(), description="folders from which the submission is imported that requires itself, as by `-e .`"
    )
    notes: tuple[str, ...] = Field(default=(), description="lines that pip would heed and groundup does not")
    problem: str | None = Field(default=None, description="why it cannot be installed at all")


def read_declared(tree: Path, name: str = FILE) -> Declared | None:
    """Return what the file *name* of *tree* declares; None when there is no such file."""
    reading = _Reading(tree)
    try:
        with reading_submission(name):
            if not (tree / name).is_file():
                return None
            reading.file(PurePosixPath(name))
    except SubmissionError as problem:
        return Declared(problem=printable(str(problem))[:300])
    return Declared(
        requirements=tuple(reading.requirements),
        import_folders=tuple(dict.fromkeys(reading.import_folders)),
        notes=tuple(reading.notes),
    )


def project_requirements(tree: Path, folder: PurePosixPath, extras: Collection[str]) -> list[str] | None:
    """Return what the Python project in *folder* of *tree* says that it requires; None: there is none.

    Nothing is executed: what a setup.py computes is not known. Raises `UsageError` for a file that cannot be read.
    """
    found = {}
    for name in ("pyproject.toml", "setup.cfg", "setup.py"):
        path = (tree / folder / name).resolve()
        if path.is_relative_to(tree) and path.is_file():
            found[name] = read_regular(path, _MAX_BYTES)
    if found.keys() <= {"setup.cfg"}:
        return None
    required = []
    for name, data in found.items():
        manifest_format = format_of(name)
        assert manifest_format is not None  # these are manifests by their names
        for one in manifest_format.read(data, name).dependencies:
            is_extra = one.kind is DependencyKind.OPTIONAL and one.group in extras
            if one.kind is DependencyKind.RUNTIME or is_extra:
                required.append(render_requirement(one))
    return required


class _ProblemError(SubmissionError):
    """A line that pip could not, or groundup does not, install."""


class _Reading:
    def __init__(self, tree: Path) -> None:
        self._tree = tree.resolve()
        self._seen: set[str] = set()
        self.requirements: list[str] = []
        self.import_folders: list[str] = []
        self.notes: list[str] = []

    def file(self, name: PurePosixPath) -> None:
        """Take one file in, and those that it includes."""
        if str(name) in self._seen:
            return
        self._seen.add(str(name))
        path = (self._tree / name).resolve()
        # Resolved first: neither `..` nor a link may lead to a file of the host's.
        if len(self._seen) > _MAX_FILES or not path.is_relative_to(self._tree) or not path.is_file():
            raise _ProblemError(f"{name} is included and is no file of the submission")
        if path.stat().st_size > _MAX_BYTES:
            raise _ProblemError(f"{name} has more than {_MAX_BYTES} bytes")
        for line in _logical_lines(_decoded(path.read_bytes())):
            self._line(line, name.parent)

    def _line(self, line: str, folder: PurePosixPath) -> None:
        if include := _INCLUDE.match(line):
            target = folder / include["target"].strip("\"' ")
            self.file(PurePosixPath(posixpath.normpath(target)))
        elif _CONSTRAINT.match(line) or _FIRST_WORD.split(line, maxsplit=1)[0] in _IGNORED:
            self.notes.append(line[:200])
        elif (local := _LOCAL.fullmatch(line)) and self._is_project(local["folder"], local["extras"] or ""):
            self.notes.append(f"{line[:200]}: imported from where it lies; its commands and metadata are not made")
        elif line.startswith("-"):
            raise _ProblemError(f"{line[:200]!r} is not a requirement by name")
        else:
            self.requirements.append(_requirement(_OPTION.sub("", line)))

    def _is_project(self, folder: str, extras: str) -> bool:
        """Take in what a project of the submission requires; pip finds it from the folder in which it runs."""
        place = PurePosixPath(posixpath.normpath(folder))
        try:
            required = project_requirements(self._tree, place, [name.strip() for name in extras.split(",")])
        except (OSError, ValueError, UsageError) as error:
            raise _ProblemError(f"the project in {folder} cannot be read: {error}") from error
        if required is None:
            return False
        self.requirements += [_requirement(line) for line in required]
        self.import_folders += [str(place), str(place / "src")]
        return True


def _requirement(text: str) -> str:
    try:
        requirement = Requirement(text)
        text.encode()  # `===` takes any text, and no index has what is none
    except (InvalidRequirement, UnicodeEncodeError) as error:
        raise _ProblemError(f"{text[:200]!r} is not a requirement by name and version") from error
    if requirement.url:
        raise _ProblemError(f"{requirement.name!r} is required by address, which no package index has")
    return str(requirement)


def _decoded(data: bytes) -> str:
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    return data.decode(encoding, "replace")


def _logical_lines(text: str) -> list[str]:
    joined = re.sub(r"\\\r?\n", " ", text)
    lines = (_COMMENT.sub("", line).strip() for line in joined.splitlines())
    return [line for line in lines if line]


class InstalledService(Record):
    """What the service finds installed, and how the declared install ended."""

    outcome: InstallOutcome
    environment: PythonEnvironment
    message: str = ""
    seconds: float
    notes: tuple[str, ...] = ()


async def install_declared(
    tree: Path, lifecycle: Lifecycle, context: GradingContext, *, with_pip: bool, extra: tuple[str, ...] = ()
) -> InstalledService:
    """Install the requirements.txt of *tree*, and *extra* with it.

    Raises `InfrastructureError` when the package index or the machine fails.
    """
    began = time.monotonic()
    at_step("installing what it declares")
    declared = await asyncio.to_thread(read_declared, tree)
    outcome, message, environment = InstallOutcome.UNDECLARED, "", None
    if declared is not None:
        request = ResolvedRequest(
            python=lifecycle.python,
            requirements=(*declared.requirements, *extra),
            with_pip=with_pip,
            names=await asyncio.to_thread(words_of, tree),
            work_s=lifecycle.install_s,
        )
        outcome, message, environment = await _try(declared, request, context)
    if environment is None:
        environment = await _fallback(lifecycle, context, with_pip=with_pip, extra=extra)
    return InstalledService(
        outcome=outcome,
        environment=importing(environment, declared, WORKSPACE),
        message=message,
        seconds=time.monotonic() - began,
        notes=() if declared is None else declared.notes,
    )


def importing(environment: PythonEnvironment, declared: Declared | None, root: str) -> PythonEnvironment:
    """Return *environment* with what the submission at *root* requires of itself on the import path."""
    if declared is None or not declared.import_folders:
        return environment
    path = ":".join(posixpath.join(root, folder) for folder in declared.import_folders)
    return environment.but(environment={**environment.environment, "PYTHONPATH": path})


async def _try(
    declared: Declared, request: ResolvedRequest, context: GradingContext
) -> tuple[InstallOutcome, str, PythonEnvironment | None]:
    if declared.problem is not None:
        return InstallOutcome.FAILED, declared.problem, None
    try:
        return InstallOutcome.SUCCEEDED, "", await context.builder.submission_environment(request)
    except OutOfTimeError:
        return InstallOutcome.TIMEOUT, f"not installed within {request.work_s:.0f} s", None
    except SubmissionError as error:
        return InstallOutcome.FAILED, printable(str(error))[:300], None


async def _fallback(
    lifecycle: Lifecycle, context: GradingContext, *, with_pip: bool, extra: tuple[str, ...]
) -> PythonEnvironment:
    if extra:
        pins = tuple(line.partition(" ")[0] for line in lifecycle.fallback)
        request = ResolvedRequest(
            python=lifecycle.python, requirements=(*pins, *extra), with_pip=with_pip, on_behalf_of="recipe"
        )
        return await context.builder.submission_environment(request)
    return await context.builder.python(
        PythonRequest(python=lifecycle.python, requirements=lifecycle.fallback, with_pip=with_pip)
    )
