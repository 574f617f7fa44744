"""groundup's suites as tasks of Inspect, and its sandbox: `sandbox="groundup"`. Needs `groundup[inspect]`.

inspect eval groundup/groundup -T suite=nl2repobench -T tasks=sqlparse --model openai/gpt-4.1

A sample whose metadata names a suite and a task gets that task's episode; any other one an empty workspace.
"""

import asyncio
import posixpath
from collections.abc import Awaitable, Callable
from typing import Any, Literal, overload

from inspect_ai import Task, task
from inspect_ai.agent import Agent, AgentState, AgentSubmit, react
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageAssistant
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState
from inspect_ai.tool import Tool, bash, tool
from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxEnvironment,
    SandboxEnvironmentLimits,
    SandboxUserUnsupportedError,
    sandbox,
    sandboxenv,
)
from typing_extensions import override

from groundup.domain.errors import GroundupError, UsageError
from groundup.domain.limits import Limits
from groundup.domain.subjects import Subject
from groundup.episodes.backends import backends
from groundup.episodes.records import EpisodeSpec
from groundup.sandbox.protocol import WORKSPACE, Command, CommandResult, Ending, SandboxSpec
from groundup.settings import load
from groundup.suites.base import ForAgents
from groundup.trees.scratch import async_scratch_folder
from groundup_bridges.runtime import HeldEpisode, numbers_of, opened_episode, opened_suite, written_tasks

_PROMPT = """You work alone in a Linux sandbox, in the folder /workspace. What lies there when you submit is tested
by hidden tests. Packages can be installed with pip, except those that the task asks you to write; there is no
other network. The tool `bash` runs commands: each call is a new shell that starts in /workspace."""
_IDLE = 3
"""So many replies in a row that call no tool end a model's work."""


@task
def groundup(
    suite: str = "nl2repobench", tasks: str | None = None, grader: str | None = None, turns: int = 200
) -> Task:
    """Return the tasks of *suite* that can be graded here, or those of *tasks*, a text with commas.

    A model has *turns* replies; what lies in the workspace then is graded.
    """
    opened = opened_suite(suite)
    samples = [
        Sample(
            id=one.id,
            input="\n\n".join(filter(None, (ForAgents.of(opened).told_of_grading(one), one.instruction))),
            target="1.0",
            metadata={SUITE: suite, TASK: one.id, GRADER: grader or ""},
        )
        for one in written_tasks(opened, tasks)
    ]
    return Task(
        dataset=MemoryDataset(samples, name=opened.name),
        solver=worker(),
        scorer=hidden_tests(),
        sandbox="groundup",
        turn_limit=turns,
        version=opened.version,
    )


def worker(command_s: int = 180) -> Agent:
    """Return an agent with a shell, whose commands may take *command_s* seconds, and `submit`.

    A model that goes on without calling a tool has stopped working, and what lies in the workspace is graded.
    """
    handing_in = AgentSubmit(tool=submit(), answer_only=False)
    return react(prompt=_PROMPT, tools=[bash(command_s)], submit=handing_in, on_continue=_goes_on)


@tool
def submit() -> Tool:
    """Return the tool that ends the work. Inspect's own refuses a call without an answer, which nobody needs."""

    async def execute(answer: str = "") -> str:
        """Hand in what lies in /workspace, and end your work.

        Args:
            answer: Ignored.
        """
        return answer

    return execute


async def _goes_on(state: AgentState) -> bool:
    replies = [message for message in state.messages if isinstance(message, ChatMessageAssistant)][-_IDLE:]
    return len(replies) < _IDLE or any(reply.tool_calls for reply in replies)


@scorer(metrics=[mean(), stderr()])
def hidden_tests() -> Scorer:
    """Return what grades a workspace by its task's hidden tests: a share of 1.

    It raises where the infrastructure failed, so that no failure is a zero.
    """

    async def score(state: TaskState, target: Target) -> Score:
        held = sandbox().as_type(GroundupSandbox).held
        if held is None:
            raise UsageError('this sample has no task of groundup; use the task "groundup/groundup"')
        verdict = await held.graded()
        numbers = numbers_of(verdict)
        return Score(
            value=numbers["reward"],
            explanation=f"{numbers.get('passed', 0):g} of {numbers.get('total', 0):g} hidden tests passed",
            metadata={**numbers, "status": verdict.status.value, "grader": verdict.grader.name},
        )

    return score


SUITE, TASK, GRADER = "groundup_suite", "groundup_task", "groundup_grader"
"""Keys of a sample's metadata."""
_DAY_S = 24 * 3600.0
_LIMITS = Limits(memory_mb=4096, disk_mb=4096, command_s=_DAY_S, wall_clock_s=_DAY_S)
_IS_FOLDER, _IS_ABSENT, _IS_FORBIDDEN, _IS_LARGE = 91, 92, 93, 94
_READ = f"""[ -d "$1" ] && exit {_IS_FOLDER}; [ -e "$1" ] || exit {_IS_ABSENT}; [ -r "$1" ] || exit {_IS_FORBIDDEN}
[ "$(stat -L -c %s -- "$1")" -le "$2" ] || exit {_IS_LARGE}; exec cat -- "$1" """
_WRITE = f"""[ -d "$1" ] && exit {_IS_FOLDER}; mkdir -p -- "$(dirname -- "$1")" || exit {_IS_FORBIDDEN}
[ ! -e "$1" ] || [ -w "$1" ] || exit {_IS_FORBIDDEN}; cat >"$1" || exit {_IS_FORBIDDEN} """
_NOT_RUNNABLE = b"sandbox: cannot run "

Run = Callable[[Command], Awaitable[CommandResult]]


@sandboxenv(name="groundup")
class GroundupSandbox(SandboxEnvironment):
    """One sandbox. Its guests are one user, and no other can be asked for."""

    def __init__(self, run: Run, close: Callable[[], Awaitable[None]], held: HeldEpisode | None = None) -> None:
        super().__init__()
        self._run = run
        self._close = close
        self.held = held
        """The episode that is played here; None: the sandbox belongs to no task of groundup's."""

    @classmethod
    @override
    async def sample_init(
        cls, task_name: str, config: Any, metadata: dict[str, str]
    ) -> dict[str, SandboxEnvironment]:
        """Open a sandbox for a sample."""
        if TASK not in metadata:
            return {"default": await cls._plain()}
        spec = EpisodeSpec(
            suite=metadata[SUITE],
            task=metadata[TASK],
            subject=Subject(agent="inspect"),
            grader=metadata.get(GRADER) or None,
        )
        held = await opened_episode(spec)
        return {"default": cls(held.episode.place.run, held.close, held)}

    @classmethod
    async def _plain(cls) -> "GroundupSandbox":
        """Return a sandbox around an empty workspace."""
        opened: asyncio.Future[Run] = asyncio.get_running_loop().create_future()
        leaving = asyncio.Event()

        async def live() -> None:
            settings = load()
            try:
                async with (
                    async_scratch_folder("inspect") as folder,
                    backends(settings.sandbox, settings) as tools,
                ):
                    spec = SandboxSpec(workspace=folder, limits=_LIMITS, system="host", label="inspect")
                    async with await tools.provider.open(spec) as box:
                        opened.set_result(box.run)
                        await leaving.wait()
            except GroundupError as error:
                if opened.done():
                    raise
                opened.set_exception(error)

        life = asyncio.create_task(live())

        async def close() -> None:
            leaving.set()
            await asyncio.wait({life})

        return cls(await opened, close)

    @classmethod
    @override
    async def sample_cleanup(
        cls, task_name: str, config: Any, environments: dict[str, SandboxEnvironment], interrupted: bool
    ) -> None:
        """Close it, however the sample ended."""
        for environment in environments.values():
            await environment.as_type(cls)._close()

    @classmethod
    @override
    def default_concurrency(cls) -> int | None:
        """Return how many samples work at once where the user does not say."""
        return load().jobs * 4

    @override
    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        """Run a command; see Inspect for what it raises."""
        if user not in (None, "user", "1000"):
            raise SandboxUserUnsupportedError(f"commands run as one user here, and not as {user!r}")
        done = await self._done(tuple(cmd), input, cwd, env, timeout)
        limit = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
        text = done.stdout.decode(errors="replace")
        if done.truncated:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR, text[:limit])
        if done.exit_code == 126 and done.stderr.startswith(_NOT_RUNNABLE):
            raise PermissionError(f"{cmd[0]}: permission denied")
        code = _code_of(done)
        return ExecResult(code == 0, code, text, done.stderr.decode(errors="replace"))

    async def _done(
        self,
        argv: tuple[str, ...],
        given: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout: float | None = None,
        *,
        most: int | None = None,
    ) -> CommandResult:
        done = await self._run(
            Command(
                argv=argv,
                cwd=posixpath.join(WORKSPACE, cwd or "."),
                environment=env or {},
                stdin=given.encode() if isinstance(given, str) else given or b"",
                timeout_s=timeout,
                output_bytes=most or SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE,
            )
        )
        if done.ending is Ending.TIMEOUT:
            raise TimeoutError(f"the command was ended after {timeout} s")
        return done

    @override
    async def write_file(self, file: str, contents: str | bytes) -> None:
        """Write a file, making its folders."""
        done = await self._done(("/bin/sh", "-c", _WRITE, "sh", _option_free(file)), contents)
        _check(done, file)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...
    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...
    @override
    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        """Read a file of at most so many bytes as Inspect allows."""
        most = SandboxEnvironmentLimits.MAX_READ_FILE_SIZE
        done = await self._done(("/bin/sh", "-c", _READ, "sh", _option_free(file), str(most)), most=most + 1)
        if done.exit_code == _IS_LARGE or done.truncated:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
        _check(done, file)
        return done.stdout.decode() if text else done.stdout


def _option_free(file: str) -> str:
    """Return a path that no program takes for an option."""
    return posixpath.join(WORKSPACE, file)


def _check(done: CommandResult, file: str) -> None:
    match done.exit_code:
        case 0:
            return
        case 91:
            raise IsADirectoryError(f"{file} is a directory")
        case 92:
            raise FileNotFoundError(f"{file} does not exist")
        case 93:
            raise PermissionError(f"{file}: permission denied")
    raise OSError(f"{file}: {done.stderr.decode(errors='replace').strip()[-300:]}")


def _code_of(done: CommandResult) -> int:
    """Return an exit code as shells tell it: 128 and a signal's number."""
    if done.exit_code is None:
        return 137
    return done.exit_code if done.exit_code >= 0 else 128 - done.exit_code
