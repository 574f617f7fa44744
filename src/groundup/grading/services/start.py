"""Which command starts a submitted service, in Python or Java: the published search."""

import re
import shlex
from pathlib import Path, PurePosixPath

from pydantic import Field

from groundup.domain.records import Record

_SCRIPTS = ("start.sh", "scripts/start.sh", "bin/start.sh")
_PROGRAMS = ("app.py", "main.py", "run.py", "manage.py", "server.py")
_MODULES = ("main", "app", "server", "api")
_DEPTH = 3
_READ_BYTES = 64 * 1024
_INSTALLERS = re.compile(rb"(?<![\w.-])(pip3?|uv|poetry|pipenv|pdm|virtualenv|venv|conda)(?![\w.-])")


class StartCommand(Record):
    """How a service is started, and what was found."""

    found: str = Field(description="a file, or the module guess")
    argv: tuple[str, ...]
    installs: bool = Field(default=False, description="whether a start script speaks of an installer")


def find_start(tree: Path, port: int) -> StartCommand | None:
    """Return the command that starts the service in *tree*; None when there is nothing to start.

    Order: start.sh in the root, in scripts/, in bin/, elsewhere down to the third level (the shallowest, then the
    first by name); app.py, main.py, run.py, manage.py, server.py; uvicorn with main, app, server, api.
    """
    script = start_script(tree)
    if script is not None:
        installs = speaks_of(_INSTALLERS, tree / script)
        return StartCommand(found=script, argv=("bash", f"./{script}"), installs=installs)
    for name in _PROGRAMS:
        if _is_file(tree / name):
            more = ("runserver", f"0.0.0.0:{port}") if name == "manage.py" else ()
            return StartCommand(found=name, argv=("python", name, *more))
    modules = [name for name in _MODULES if _is_file(tree / f"{name}.py") or (tree / name).is_dir()]
    if modules:
        return StartCommand(found="uvicorn", argv=("sh", "-c", _guess(modules, port)))
    return None


def start_script(tree: Path) -> str | None:
    """Return the start script of the published search."""
    for name in _SCRIPTS:
        if _is_file(tree / name):
            return name
    found: list[PurePosixPath] = []
    for depth in range(1, _DEPTH):
        files = filter(_is_file, tree.glob("*/" * depth + "start.sh"))
        found += [PurePosixPath(path.relative_to(tree)) for path in files]
    found.sort(key=lambda path: (len(path.parts), str(path)))
    return str(found[0]) if found else None


def _is_file(path: Path) -> bool:
    """Whether there is a file that lies inside, not behind a link that leads outside."""
    return path.is_file() and not path.is_symlink()


def _guess(modules: list[str], port: int) -> str:
    tries = " ".join(map(shlex.quote, modules))
    return (
        f"for module in {tries}; do "
        'if python -c "import $module" 2>/dev/null; then '
        f'exec python -m uvicorn "$module:app" --host 0.0.0.0 --port {port}; fi; done; '
        f"echo 'none of {tries} can be imported' >&2; exit 3"
    )


def speaks_of(words: re.Pattern[bytes], script: Path) -> bool:
    """Whether *words* stand in it, or in another script beside it: that only decides what is offered."""
    scripts = [script, *sorted(script.parent.glob("*.sh"))[:20]]
    for path in scripts:
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                if words.search(file.read(_READ_BYTES)):
                    return True
    return False


_MAVEN = re.compile(rb"(?<![\w.-])(mvnw?|maven|gradlew?)(?![\w-])")


def find_java_start(tree: Path) -> StartCommand | None:
    """Return the command that starts the service in *tree*; None when there is nothing to start.

    A start script where Python's is looked for, else Maven runs what pom.xml says is a Spring Boot application.
    """
    script = start_script(tree)
    if script is not None:
        found = speaks_of(_MAVEN, tree / script)
        return StartCommand(found=script, argv=("bash", f"./{script}"), installs=found)
    pom = tree / "pom.xml"
    if pom.is_file() and not pom.is_symlink():
        return StartCommand(found="pom.xml", argv=("mvn", "spring-boot:run", "-q"), installs=True)
    return None
