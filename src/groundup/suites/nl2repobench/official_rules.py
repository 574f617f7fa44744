"""The published evaluator's rules and its way of running commands, faults included.

Each function reproduces one step of it: what is deleted, how a command is split, how outputs become a score.
What is wrong with these rules is listed in docs/nl2repobench.md; `strict` does not use any of them.

Owns what counts as a command's output: standard output alone when it ends with 0, and otherwise the text of
an exception that quotes both streams.
"""

import os
import re
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from groundup.domain.errors import SandboxError
from groundup.domain.names import number_of, printable
from groundup.domain.records import Record
from groundup.domain.steps import at_step
from groundup.sandbox.protocol import Command, CommandResult, Ending, Sandbox

PACKAGE_FILES = frozenset(
    {
        "setup.py",
        "pyproject.toml",
        "setup.cfg",
        "requirements.txt",
        "requirements-dev.txt",
        "requirements-test.txt",
        "tox.ini",
        "pytest.ini",
        "poetry.lock",
        "Pipfile",
        "Pipfile.lock",
        "environment.yml",
        "conda-env.yaml",
        "manifest.in",
        "MANIFEST.in",
    }
)
"""Deleted by name, anywhere in the submission."""

_PASSED = re.compile(r"(\d+) passed")
_FAILED = re.compile(r"(\d+) failed")
_ERRORS = re.compile(r"(\d+) error")


class CommandOutput(Record):
    """One command of the task, as written, and everything that it printed."""

    command: str
    output: str
    exit_code: int = 0


class PytestCounts(Record):
    """What the regular expressions found in the outputs of all commands that name pytest."""

    passed: int = 0
    failed: int = 0
    errors: int = 0


def delete_package_files(workspace: Path) -> list[str]:
    """Delete every file named like a package declaration, a library's own data included; return their paths."""
    removed = []
    for folder, _, names in os.walk(workspace):
        for name in names:
            if name in PACKAGE_FILES:
                path = Path(folder) / name
                path.unlink()
                removed.append(str(path.relative_to(workspace)))
    return sorted(removed)


def delete_test_files(workspace: Path, listed: Iterable[str]) -> list[str]:
    """Delete the listed paths; return them.

    A folder that is a symbolic link stays: the published deletion fails on it and goes on. A dangling link
    counts as absent and stays as well.
    """
    removed = []
    for name in listed:
        target = workspace / name
        if not target.exists():
            continue
        if target.is_dir():
            if target.is_symlink():
                continue
            shutil.rmtree(target)
        else:
            target.unlink()
        removed.append(name)
    return removed


def split_command(command: str) -> list[str]:
    """Split as the published evaluator does: no shell, so `&&`, `>` and `NAME=value` become plain arguments."""
    return shlex.split(command)


_NAMED = 140
"""Characters of a line of output in a reason."""
_SUMMARY = re.compile(r"^(?:FAILED|ERROR) (\S.*)$", re.MULTILINE)
_ERROR = re.compile(r"\b(?:error|ERROR|Error|invalid|not found|No such file|cannot|failed)\b|Error:")
_EXCEPTION = re.compile(r"[\w.]*(?:Error|Exception|NotFound): \S")
"""How a traceback's last line begins, which pip prints in the middle of its own errors."""
_OF_SHELL = re.compile(r"&&|\|\||[|;<>*`]|\$[({A-Za-z]|^\s*(?:cd|export|source|alias)\s")


def count(outputs: Sequence[CommandOutput]) -> PytestCounts:
    """Add up the first match per kind and line of every command whose text contains "pytest"."""
    passed = failed = errors = 0
    for result in outputs:
        if "pytest" not in result.command.lower():
            continue
        for line in result.output.split("\n"):
            passed += _first(_PASSED, line)
            failed += _first(_FAILED, line)
            errors += _first(_ERRORS, line)
    return PytestCounts(passed=passed, failed=failed, errors=errors)


_OF_FILE = re.compile(r"^(?P<file>\S+\.py) (?P<marks>[.FEsxXR]+)\s*(\[\s*\d+%\])?$")
_CONTINUED = re.compile(r"^(?P<marks>[.FEsxXR]+)\s*(\[\s*\d+%\])?$")
_VERBOSE = re.compile(r"^(?P<file>\S+?\.py)::.* PASSED(\s+\[\s*\d+%\])?$")


def passed_by_file(outputs: Sequence[CommandOutput]) -> dict[str, int]:
    """Return how many tests of each file pytest printed as passed; nothing where its output names no files.

    Decides no score: a submission may print such lines itself.
    """
    found: dict[str, int] = {}
    for result in outputs:
        if "pytest" not in result.command.lower():
            continue
        file = None
        for line in result.output.split("\n"):
            if (verbose := _VERBOSE.match(line)) is not None:
                file = None
                found[verbose["file"]] = found.get(verbose["file"], 0) + 1
            elif (first := _OF_FILE.match(line)) is not None:
                file = first["file"]
                found[file] = found.get(file, 0) + first["marks"].count(".")
            elif file is not None and (more := _CONTINUED.match(line)) is not None:
                found[file] += more["marks"].count(".")
            else:
                file = None
    return found


def failing_tests(result: CommandOutput) -> list[str]:
    """Return the lines of pytest's summary that name a failed test, without the word; they are a claim."""
    return [printable(found[1])[:_NAMED] for found in _SUMMARY.finditer(result.output)]


def first_error(result: CommandOutput) -> str:
    """Return the last exception in a command's output, else its first line of an error, else its last line."""
    lines = [line.strip() for line in result.output.splitlines() if line.strip()]
    raised = [line for line in lines if _EXCEPTION.match(line)][-1:]
    errors = [line for line in lines if _ERROR.search(line)]
    return printable((raised or errors or lines[-1:] or [""])[0])[:_NAMED]


def needs_shell(command: str) -> bool:
    """Whether a command holds what only a shell understands, and gets as arguments."""
    return _OF_SHELL.search(command) is not None


def success_rate(passed: int, declared: int) -> float:
    """Return passed/declared, at most 1; 0 when nothing is declared."""
    return min(passed / declared, 1) if declared > 0 else 0.0


def _first(pattern: re.Pattern[str], line: str) -> int:
    match = pattern.search(line)
    return number_of(match.group(1)) if match else 0


OUTPUT_BYTES = 64 * 1024 * 1024
"""Per stream; the published evaluator knows no bound."""
_FATAL = frozenset({Ending.WALL_CLOCK, Ending.MEMORY, Ending.DISK, Ending.PROCESSES})
"""After these a sandbox may be gone, so nothing more is run in it."""


class Ran(Record):
    """One command, what the evaluator gets to read of it, and how it really ended."""

    said: CommandOutput
    ending: Ending = Ending.EXITED
    duration_s: float = 0.0
    truncated: bool = False


async def run_commands(
    sandbox: Sandbox, commands: Sequence[str], variables: Mapping[str, str], timeout_s: float
) -> tuple[Ran, ...]:
    """Run each command by itself; a failure changes nothing for the next. Raises `SandboxError`."""
    done: list[Ran] = []
    for number, command in enumerate(commands, 1):
        at_step(f"published command {number} of {len(commands)}")
        ran = await _run(sandbox, command, variables, timeout_s)
        done.append(ran)
        if ran.ending is Ending.SANDBOX_DIED:
            raise SandboxError("the sandbox died while the published commands ran; repeat the attempt")
        if ran.ending in _FATAL:
            break
    return tuple(done)


async def _run(sandbox: Sandbox, command: str, variables: Mapping[str, str], timeout_s: float) -> Ran:
    try:
        argv = split_command(command)
    except ValueError as error:
        return Ran(said=CommandOutput(command=command, output=str(error), exit_code=1))
    if not argv or "\0" in command:
        return Ran(said=CommandOutput(command=command, output="no command to execute", exit_code=1))
    result = await sandbox.run(
        Command(argv=tuple(argv), environment=dict(variables), timeout_s=timeout_s, output_bytes=OUTPUT_BYTES)
    )
    return Ran(
        said=said_of(command, argv, result),
        ending=result.ending,
        duration_s=result.duration_s,
        truncated=result.truncated,
    )


def said_of(command: str, argv: Sequence[str], result: CommandResult) -> CommandOutput:
    """Return what the evaluator reads of a command that ended so.

    A command that succeeds loses its standard error. Of one that fails both streams are quoted, unless either is
    not UTF-8: then the text of that error is all there is.
    """
    if result.ok:
        text = result.stdout.decode(errors="replace").removesuffix("\n")
        return CommandOutput(command=command, output=text)
    code = _container_code(result.exit_code)
    try:
        stdout, stderr = result.stdout.decode(), result.stderr.decode()
    except UnicodeDecodeError as error:
        return CommandOutput(command=command, output=str(error), exit_code=1)
    quoted = (
        f"The command executed was `docker container exec {shlex.join(argv)}`.\nIt returned with code {code}\n"
        f"The content of stdout is '{stdout}'\nThe content of stderr is '{stderr}'\n"
    )
    return CommandOutput(command=command, output=quoted, exit_code=code)


def _container_code(code: int | None) -> int:
    """Return an exit code as a container engine reports it; what was ended from outside counts as killed."""
    if code is None:
        return 137
    return 128 - code if code < 0 else code
