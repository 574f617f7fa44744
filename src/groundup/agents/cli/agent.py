"""Agent `cli`: one attempt by a program that groundup knows from a preset.

The program runs in the attempt's sandbox with a HOME of its own, which is thrown away, and sees its model as an
endpoint on the loopback. An attempt that is tried again starts it again: its state cannot be taken up.
"""

import asyncio
import shlex
from collections.abc import Mapping

from pydantic import Field, JsonValue, ValidationError
from typing_extensions import override

from groundup.agents.absence import brought_along
from groundup.agents.base import Agent, AgentContext, AgentResult
from groundup.agents.cli.preset import Chosen, choose, fill
from groundup.agents.cli.results import (
    Exchanges,
    Finished,
    kept_files,
    open_gateway,
    outcome_of,
    watched,
    with_paid,
)
from groundup.agents.resuming import Clock
from groundup.agents.workspace import HOME, LanguageTools, SandboxExtras, home_of, open_workspace
from groundup.domain.digests import digest_of
from groundup.domain.errors import TaskError, UsageError
from groundup.domain.limits import Limits
from groundup.domain.records import SettingRecord, plainly
from groundup.domain.subjects import Outcome
from groundup.domain.tasks import Task
from groundup.environments.builder import EnvironmentBuilder
from groundup.environments.requests import InstalledProgram
from groundup.models.gateway import ModelAddress, ModelGateway
from groundup.sandbox.protocol import WORKSPACE, Command, CommandResult, Mount, Sandbox

_OWN = "/opt/own"
_PROMPT_FILE = f"{HOME}/instruction.md"
_LONGEST_ARGUMENT = 100_000
"""Of an instruction as an argument; the kernel takes no single one of 128 KiB."""
_LEAST_MEMORY_MB = 512
_NO_TIMEOUT_S = 7 * 24 * 3600.0
_OPENING = (
    "You work alone: nobody answers questions, and nobody says when to go on. Your working folder is {workspace}. "
    "What {handed_in} there when you stop is what you hand in. There is Python with pip.{tools} The only way out "
    "of this machine is to package registries, for which {installers} is configured. The task:\n\n"
)
_HANDED_IN = {"tree": "lies", "edits": "you have changed"}
_SEE_FILE = "Your task is described in the file {prompt_file}. Read all of it, then do it."


class CliOptions(SettingRecord):
    """What a user can set."""

    preset: str = Field(description="name@version, or the path of a preset's file")
    arguments: str = Field(default="", description="further arguments of the program, as a shell splits them")
    exclude_newer: str | None = Field(
        default=None,
        description="a date: what the program needs is resolved as of its end; None: as of its install",
    )
    memory_mb: int | None = Field(default=None, ge=64, description="of the sandbox; None: the task's")


def create(options: Mapping[str, JsonValue]) -> "CliAgent":
    """Return the agent. Raises `UsageError`."""
    try:
        chosen = CliOptions.model_validate(options)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"option {where} of the agent cli: {plainly(first)}; see docs/agents.md") from error
    return CliAgent(choose(chosen.preset), chosen)


class CliAgent(Agent):
    """Runs the program of a preset."""

    def __init__(self, chosen: Chosen, options: CliOptions) -> None:
        self.preset, pinned = chosen
        self.name = f"cli:{self.preset.name}"
        self.version = pinned or digest_of(self.preset.run)[7:19]
        self.needs_model = self.preset.protocol != "none"
        self._pinned = pinned
        self._options = options

    @override
    def identity(self) -> Mapping[str, JsonValue]:
        """Return the preset without its description, with the version and the options."""
        fields = self.preset.model_dump(mode="json", exclude={"description", "trials", "notes", "bring"})
        options = self._options.model_dump(mode="json", exclude={"preset"})
        return {
            "preset": fields,
            "version": self._pinned,
            **({"brought": dict(self.preset.brought)} if self.preset.bring else {}),
            "prompts": digest_of([_OPENING, _HANDED_IN, _SEE_FILE]),
            **options,
        }

    @override
    def reservation_mb(self, task: Task) -> int:
        """Return what a program needs that waits for its model."""
        return min(self._limits(task).memory_mb, max(_LEAST_MEMORY_MB, self.preset.min_memory_mb or 0))

    @override
    async def attempt(self, context: AgentContext) -> AgentResult:
        """Run the program to its end or its limits."""
        exchanges = Exchanges(context)
        paid, limit = exchanges.paid, context.limits.cost_usd
        if limit is not None and (paid.cost_usd or 0.0) >= limit:  # by tries that were interrupted
            return with_paid(
                paid, AgentResult(outcome=Outcome.BUDGET, detail=f"the attempt's budget of ${limit:g} is spent")
            )
        left_s = exchanges.clock.left_s
        if left_s is not None and left_s <= 0:
            detail = f"the attempt's {context.limits.wall_clock_s:g} s were used up by tries that were interrupted"
            return with_paid(paid, AgentResult(outcome=Outcome.LIMIT, detail=detail))
        program = await self._program(context.builder)
        async with open_gateway(context, exchanges) as gateway:
            result = await self._run(context, program, gateway, exchanges.clock)
        for name, content in kept_files(home_of(context), self.preset.trajectory):
            context.keep(name, content)
        stop, account = (None, None) if gateway is None else (gateway.stopped, gateway.account)
        finished = Finished(result=result, limits=self._limits(context.task), stop=stop, last=exchanges.last)
        return with_paid(exchanges.paid, outcome_of(self.preset, finished, account))

    async def _program(self, builder: EnvironmentBuilder) -> InstalledProgram | None:
        install = self.preset.install
        if install is None or self._pinned is None:
            return None
        try:
            return await builder.program(install.request(self._pinned, self._options.exclude_newer))
        except UsageError as error:
            raise UsageError(f"{self.name} cannot be installed: {error}") from error

    async def _run(
        self, context: AgentContext, program: InstalledProgram | None, gateway: ModelGateway | None, clock: Clock
    ) -> CommandResult:
        own = (Mount(source=place, target=f"{_OWN}/{name}") for name, place in self.preset.bring.items())
        mounts = (*(program.mounts if program else ()), *own)
        furnishing = SandboxExtras(
            mounts=mounts,
            path=program.path if program else (),
            limits=self._limits(context.task),
        )
        addresses: list[ModelAddress] = []

        async def attach(sandbox: Sandbox) -> Mapping[str, str]:
            if gateway is not None:
                addresses.append(await gateway.attach(sandbox))
            return {}

        copies = await asyncio.to_thread(brought_along, mounts, context.withheld)
        async with open_workspace(context, furnishing, attach) as place:
            sandbox = await place.sandbox()
            values = _values(context.task, place.tools, addresses[-1] if addresses else None)
            values["bin"] = program.bin if program else ""
            await sandbox.write_file(_PROMPT_FILE, values["instruction"].encode())
            for name, text in self.preset.files.items():
                await sandbox.write_file(f"{HOME}/{name}", fill(text, values).encode(), mode=0o600)
            command = self._command(values, program, clock.left_s)
            context.trajectory.append(
                "program",
                preset=self.preset.name,
                version=self._pinned,
                argv=[part if part != values["prompt"] else "{prompt}" for part in command.argv],
                installed=dict(program.identity) if program else {},
                copies=list(copies),
            )
            clock.start()
            result = await watched(place, command, gateway)
            context.trajectory.append("used", seconds=round(result.duration_s, 1), **dict(sandbox.usage()))
        context.keep("stdout.log", result.stdout)
        context.keep("stderr.log", result.stderr)
        return result

    def _command(
        self,
        values: Mapping[str, str],
        program: InstalledProgram | None,
        timeout_s: float | None,
    ) -> Command:
        first, *rest = [fill(part, values) for part in self.preset.run]
        if program is not None and "/" not in first:
            first = f"{program.bin}/{first}"
        own = {} if program is None else program.environment
        return Command(
            argv=(first, *rest, *shlex.split(self._options.arguments)),
            cwd=fill(self.preset.cwd, values),
            environment={**own, **{name: fill(text, values) for name, text in self.preset.environment.items()}},
            stdin=fill(self.preset.stdin, values).encode(),
            timeout_s=timeout_s or _NO_TIMEOUT_S,
        )

    def _limits(self, task: Task) -> Limits:
        wanted = self._options.memory_mb or max(task.limits.memory_mb, self.preset.min_memory_mb or 0)
        return task.limits.but(memory_mb=wanted)


def _values(task: Task, tools: LanguageTools, address: ModelAddress | None) -> dict[str, str]:
    """Return what placeholders stand for."""
    if task.instruction is None:
        raise TaskError(f"{task.id} has no instruction, so no agent can work on it; pull the suite's data")
    places = {"workspace": WORKSPACE, "home": HOME, "prompt_file": _PROMPT_FILE, "own": _OWN}
    fields = {"handed_in": _HANDED_IN[task.deliverable], "tools": tools.sentence, "installers": tools.installers}
    opening = fill(_OPENING, {**places, **fields})
    instruction = opening + task.instruction
    short = len(instruction.encode()) <= _LONGEST_ARGUMENT
    model = {} if address is None else address.model_dump()
    return {
        **places,
        **model,
        "instruction": instruction,
        "prompt": instruction if short else fill(_SEE_FILE, places),
    }
