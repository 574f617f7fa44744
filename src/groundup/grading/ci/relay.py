"""Runs the commands of act's steps in sandboxes of their own, and keeps what they did.

act's sandbox holds act and `shim.py` in the place of every program; what a shim is asked to run comes here and
runs in a sandbox that act's knows nothing of. So exit codes are the supervisor's, and a step cannot reach act, its
log, or its scripts. Each of act's jobs gets a sandbox with a fresh copy of the repository. Output goes to the log
here; act gets the lines that are workflow commands.
"""

import asyncio
import contextlib
import posixpath
import re
import socket
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from pydantic import Field, ValidationError

from groundup.domain.errors import InfrastructureError
from groundup.domain.records import Record
from groundup.grading.ci.records import FOLDER_VARIABLE, TEMPORARY, TOOLS, RunCommand, job_of, translated
from groundup.grading.ci.tallies import tallies_of
from groundup.inside.shim import FILES
from groundup.sandbox.deadlines import Debt
from groundup.sandbox.protocol import Command, CommandResult, Ending, Sandbox

_MOST_ASKED = 64 * 1024 * 1024
_TOLD_TO_ACT = 256 * 1024
_FILE_BYTES = 1024 * 1024
_MOST_FAILED = 64
_AFTERWARDS_S = 10.0
_LOG_BYTES = 64 * 1024 * 1024
_COMMAND = re.compile(r"^\s*(?:::|##\[)", re.MULTILINE)
_NOT_PASSED_ON = ("LD_LIBRARY_PATH", "PWD", "OLDPWD", "SHLVL", "_", "HOME", "USER", "ACT")
"""Variables of act's own, of its sandbox, or such as every sandbox has."""
_LOADER = re.compile(r"LD_\w+")
_BLOCK = re.compile(r"([A-Za-z_][\w-]*)<<(.+)")

Open = Callable[[str], Awaitable["StepPlace"]]
"""Opens the sandbox of one of act's jobs, by the name of its folder."""


@dataclass(frozen=True)
class StepPlace:
    """A sandbox for one job's steps, with what every command in it needs."""

    sandbox: Sandbox
    environment: Mapping[str, str]
    path: tuple[str, ...]
    afterwards: tuple[str, ...] = ()
    """What is run after each command: it ends what the command left running for the next one."""


class _Asked(Record):
    argv: tuple[str, ...] = Field(min_length=1)
    cwd: str
    environment: dict[str, str]
    files: dict[str, str]


class Relay:
    """Serves the shims of one run of act."""

    def __init__(
        self,
        repository: str,
        open_place: Open,
        hash_files: Callable[[tuple[str, ...]], str],
        tests: Collection[str] = (),
    ) -> None:
        """Make it; *tests* are the keys of steps whose tests are counted, none: of all steps."""
        self.commands: list[RunCommand] = []
        self._failed: dict[tuple[str, str], str] = {}
        """By job and step, the end of what the last command printed that failed, or whose runner says so."""
        self.trouble: InfrastructureError | None = None
        """Why no step could be run any more."""
        self._repository = repository
        self._open_place = open_place
        self._hash_files = hash_files
        self._tests = tests
        self._log = bytearray()
        self._places: dict[str, asyncio.Task[StepPlace]] = {}
        self._kept_back: dict[str, dict[str, str]] = {}
        """Variables that act's own programs must not get, by job."""
        self._empty: dict[str, set[str]] = {}
        """Files of a job that steps append to, and that its last command left empty."""
        self._serving: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._left_s = float("inf")
        self._commit = ""
        self.debt = Debt()
        """How long act waited for commands."""

    @property
    def log(self) -> bytes:
        """What all commands printed."""
        return bytes(self._log)

    def failed_output(self, job: str, soft: Collection[str] = ()) -> str:
        """Return the end of what failed last: in *job* where something did, in steps that are not *soft*."""
        own = [text for (name, step), text in self._failed.items() if name == job and step not in soft]
        return next(reversed(own or [*self._failed.values()]), "")

    async def serve(self, listening: socket.socket, allowed_s: float, commit: str = "") -> None:
        """Answer on *listening* until `close`; all commands together run for *allowed_s* that they have.

        Where act writes *commit*, its own, a command gets that of the job's checkout.
        """
        self._left_s = allowed_s
        self._commit = commit
        self._server = await asyncio.start_server(self._accept, sock=listening, limit=_MOST_ASKED)

    async def close(self) -> None:
        """End what still runs."""
        if self._server:
            self._server.close()
        tasks = (*self._serving, *self._places.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # In a task of our own: asyncio prints a traceback for one of its own that is cancelled.
        task = asyncio.ensure_future(self._answer(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            asked = _Asked.model_validate_json(await reader.readuntil(b"\n"))
            with self.debt.owing():
                answer = await self._run(asked)
            writer.write(answer)
            with contextlib.suppress(ConnectionError):
                await writer.drain()
        except (ValidationError, ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the shim sees no answer, and its step fails
        except InfrastructureError as error:
            self.trouble = self.trouble or error
        finally:
            writer.close()

    async def _run(self, asked: _Asked) -> bytes:
        if _asks_for_hash(asked):
            digest = self._hash_files(tuple(asked.environment.get("patterns", "").splitlines()))
            return _told(0, stderr=f"__OUTPUT__{digest}__OUTPUT__")
        job = job_of(asked.cwd)
        if job is None:
            return _told(1, stderr=f"{asked.cwd} is no folder of a job\n")
        place = await self._place(job)
        files = {name: f"{TEMPORARY}/{name.lower()}" for name in FILES}
        # Emptied for each command: act appends to its own files what one command wrote.
        written = dict.fromkeys(set(files.values()) - self._empty.get(job, set()), b"")
        for path, text in asked.files.items():
            told = self._with_commit(self._translated(text), place)
            written[self._translated(path)] = told.encode("utf-8", "surrogateescape")
        try:
            for path, content in written.items():
                await place.sandbox.write_file(path, content)
        except (OSError, ValueError) as error:  # an earlier step closed or replaced the runner's folder
            names = asked.environment.get("GITHUB_JOB", ""), _step_of(asked.argv) or ""
            return self._unprepared(*names, error)
        result = await place.sandbox.run(self._command(asked, place, job, files))
        self._left_s -= result.counted_s
        self._record(asked, result)
        if place.afterwards:
            await place.sandbox.run(Command(argv=place.afterwards, timeout_s=_AFTERWARDS_S))
        code = result.exit_code if result.ending is Ending.EXITED and result.exit_code is not None else 1
        found = {name: await _appended(place.sandbox, path) for name, path in files.items()}
        self._empty[job] = {files[name] for name, text in found.items() if text == ""}
        appended = {name: text or "" for name, text in found.items()}
        appended["GITHUB_ENV"] = self._loader_kept_back(job, appended["GITHUB_ENV"])
        return _told(code if code >= 0 else 128 - code, stdout=_workflow_commands(result), files=appended)

    async def _place(self, job: str) -> StepPlace:
        if job not in self._places:
            self._places[job] = asyncio.ensure_future(self._open_place(job))
        # A command that is cancelled must not end the opening on which the others of its job wait.
        return await asyncio.shield(self._places[job])

    def _command(self, asked: _Asked, place: StepPlace, job: str, files: Mapping[str, str]) -> Command:
        given = {
            name: self._with_commit(self._translated(value), place) for name, value in asked.environment.items()
        }
        for name in _NOT_PASSED_ON:
            given.pop(name, None)
        own = (dict(place.environment), files)
        cwd = posixpath.join(self._translated(asked.cwd), given.pop(FOLDER_VARIABLE, "."))
        known = [folder for folder in given.get("PATH", "").split(":") if folder not in ("", "/usr/bin", "/bin")]
        path = dict.fromkeys((*known, *place.path, "/usr/bin", "/bin"))
        # What the workflow sets counts more than what it would find on a runner.
        environment = {**own[0], **given, **own[1], **self._kept_back.get(job, {}), "PATH": ":".join(path)}
        environment |= {"RUNNER_TEMP": TEMPORARY, "RUNNER_TOOL_CACHE": TOOLS}
        return Command(
            argv=tuple(self._translated(argument) for argument in asked.argv),
            cwd=posixpath.normpath(cwd),
            environment=environment,
            timeout_s=max(self._left_s, 0.01),
        )

    def _translated(self, text: str) -> str:
        return translated(text, self._repository)

    def _with_commit(self, text: str, place: StepPlace) -> str:
        head = place.environment.get("GITHUB_SHA", "")
        return text.replace(self._commit, head) if self._commit and head else text

    def _record(self, asked: _Asked, result: CommandResult) -> None:
        variables = asked.environment
        output = result.stdout + (b"\n" if result.stdout and result.stderr else b"") + result.stderr
        step = _step_of(asked.argv) or variables.get("GITHUB_ACTION", "")
        command = RunCommand(
            job=variables.get("GITHUB_JOB", ""),
            step=step,
            exit_code=result.exit_code,
            ending=result.ending.value,
            duration_s=round(result.duration_s, 3),
            tallies=tallies_of(output.decode(errors="replace")) if step in self._tests or not self._tests else (),
            cut=result.truncated,
        )
        self.commands.append(command)
        if not result.ok or any(tally.failed for tally in command.tallies):
            self._keep_failed(command, output[-256 * 1024 :].decode(errors="replace"))
        head = f"--- {command.job}, step {command.step}: {' '.join(asked.argv)[:300]}\n"
        foot = f"\n[{result.ending}, exit code {result.exit_code}, {result.duration_s:.2f} s]\n"
        room = _LOG_BYTES - len(self._log)
        self._log += (head.encode() + output + foot.encode())[: max(room, 0)]

    def _keep_failed(self, command: RunCommand, output: str) -> None:
        key = (command.job, command.step)
        self._failed.pop(key, None)  # the last one stands last
        self._failed[key] = output
        for oldest in list(self._failed)[:-_MOST_FAILED]:
            del self._failed[oldest]

    def _unprepared(self, job: str, step: str, error: Exception) -> bytes:
        text = f"the step's files cannot be written: {error}\n"
        self._failed[job, step] = text
        self._log += text.encode()[: max(_LOG_BYTES - len(self._log), 0)]
        return _told(1, stderr=text)

    def _loader_kept_back(self, job: str, text: str) -> str:
        """Return *text* without variables of the loader, with which the shims would not start.

        Later steps of *job* still get them.
        """
        kept: list[str] = []
        inside: str | None = None
        for line in text.splitlines():
            name, _, value = line.partition("=")
            if inside is None and _LOADER.fullmatch(name):
                self._kept_back.setdefault(job, {})[name] = value
                continue
            block = _BLOCK.fullmatch(line) if inside is None else None
            inside = block[2] if block else None if line == inside else inside
            kept.append(line)
        return "".join(f"{line}\n" for line in kept)


def _asks_for_hash(asked: _Asked) -> bool:
    """Whether act wants files hashed: it runs a script of its own with Node.js for that."""
    script = PurePosixPath(asked.argv[-1])
    return asked.argv[0] == "node" and script.parts[-2:] == ("hashfiles", "index.js")


def _step_of(argv: tuple[str, ...]) -> str | None:
    """Return the key of the job's step that a script belongs to, also as a part of the action that the step uses.

    act names scripts by steps: `2.sh`, `setup.sh`, `1-composite-0.sh`.
    """
    script = next((PurePosixPath(word) for word in argv if "/act/workflow/" in word), None)
    return None if script is None else script.stem.partition("-composite-")[0]


def _told(code: int, stdout: str = "", stderr: str = "", files: Mapping[str, str] | None = None) -> bytes:
    """Return an answer as the shim reads it: its exit code and lengths in a line, then all texts."""
    parts = {"stdout": stdout, "stderr": stderr, **(files or {})}
    texts = {name: text.encode("utf-8", "surrogateescape") for name, text in parts.items()}
    head = " ".join((str(code), *(f"{name}:{len(text)}" for name, text in texts.items())))
    return b"\n".join((head.encode(), b"".join(texts.values())))


def _workflow_commands(result: CommandResult) -> str:
    """Return the lines that are meant for the runner."""
    lines = (
        *result.stdout.decode(errors="replace").splitlines(),
        *result.stderr.decode(errors="replace").splitlines(),
    )
    return "".join(f"{line}\n" for line in lines if _COMMAND.match(line))[:_TOLD_TO_ACT]


async def _appended(sandbox: Sandbox, path: str) -> str | None:
    """Return what a command appended to a file; None where it cannot be read."""
    try:
        data = await sandbox.read_file(path, max_bytes=_FILE_BYTES)
    except (OSError, ValueError):
        return None
    text = data.decode(errors="replace")
    return text if not text or text.endswith("\n") else f"{text}\n"
