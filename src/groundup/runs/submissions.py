"""Where a run's submissions come from: what the user names, then the suite, an earlier run or an agent."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import JsonValue, ValidationError
from typing_extensions import override

from groundup.domain.digests import digest_of
from groundup.domain.errors import InfrastructureError, MachineError, SubmissionError, UsageError
from groundup.domain.names import unknown
from groundup.domain.records import plainly
from groundup.domain.subjects import (
    PRESET,
    PROGRAM_AGENT,
    AttemptKey,
    Outcome,
    Provenance,
    Submission,
)
from groundup.domain.tasks import Task
from groundup.extensions import lacking
from groundup.grading.context import GradingContext
from groundup.settings import Settings
from groundup.store.folder import RunFolder
from groundup.store.records import Generated, References, VerdictLine
from groundup.suites.base import Suite
from groundup.suites.opening import open_suite
from groundup.trees.digest import TreeDigest, tree_digest
from groundup.trees.writer import copy_tree, in_thread


class SubmissionOrigin:
    """Says for which attempts a run has submissions; by itself, that anybody may make them for every task."""

    def attempts(self) -> int:
        """Return how many attempts per task it holds, at least 1: the default of `--attempts`."""
        return 1

    def identity(self, attempts: Collection[AttemptKey]) -> Mapping[str, str]:
        """Return what decides the submissions of *attempts*, pinned in the run's configuration.

        Short names to digests, one per attempt where submissions lie on disk, such as
        `{"sqlparse/0": "sha256:..."}`: of an archive's bytes, of a tree. No absolute paths. Raises `UsageError`
        for a submission of the user's that is unreadable: nothing has run yet.
        """
        return {}

    def holds(self, attempt: AttemptKey) -> bool:
        """Whether there is something for *attempt*; otherwise it is recorded as not attempted."""
        return True


class SubmissionSource(SubmissionOrigin, ABC):
    """Hands out the submissions of a run."""

    @abstractmethod
    async def take_in(
        self, task: Task, attempt: AttemptKey, destination: Path, context: GradingContext
    ) -> Submission:
        """Write the submission as a plain tree into the empty folder *destination*; return its record.

        `SubmissionError`: it is at fault, and is graded 0 with that sentence as the reason.
        `InfrastructureError` (so also `DiskFullError`): it can be tried again. What lies in *destination* after an
        error is removed by the caller. Blocking work goes to a thread.
        """


class ReferenceSource(SubmissionSource):
    """Asks the suite; nothing is pinned, for tasks and graders are."""

    def __init__(self, suite: Suite, which: str) -> None:
        """Raises `UsageError` for a subject that *suite* does not play."""
        if which not in suite.subjects:
            raise UsageError("; ".join([unknown("agent", which, suite.subjects), *lacking("subject")]))
        self._suite = suite
        self._which = which

    @override
    async def take_in(
        self, task: Task, attempt: AttemptKey, destination: Path, context: GradingContext
    ) -> Submission:
        """Have the suite write it."""
        await self._suite.reference(task, self._which, destination, context)
        tree = await in_thread(tree_digest, destination)
        return Submission(**tree._asdict(), provenance=self._provenance())

    def _provenance(self) -> Provenance:
        match self._which:
            case "oracle" | "nop" as source:
                return Provenance(source=source)
            case name:
                return Provenance(source="agent", agent_name=name)


class EarlierSource(SubmissionSource):
    """Copies what an earlier run took in. What it could not take in stays refused, with the same words."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._planned = folder.config().planned
        self._lines = folder.records(files=False).lines

    def among(self, tasks: Collection[str], named: Collection[str]) -> list[str]:
        """Return those of *tasks* that the run had. Raises `UsageError` for a *named* one that it did not have.

        Nobody attempted the others: graded again, they would count 0.
        """
        there = frozenset(self._planned.tasks)
        for name in named:
            if name in tasks and name not in there:
                raise UsageError(f"{self._folder.path.name} has no attempt: {unknown('task', name, there)}")
        return [name for name in tasks if name in there]

    @override
    def attempts(self) -> int:
        return self._planned.attempts

    @override
    def identity(self, attempts: Collection[AttemptKey]) -> Mapping[str, str]:
        lines = {key: line for key, line in self._lines.items() if key in attempts}
        return {str(key): line.submission or line.outcome for key, line in lines.items()}

    @override
    def holds(self, attempt: AttemptKey) -> bool:
        """Whether the earlier run had a submission, or owes to look for one."""
        line = self._lines.get(attempt)
        if line is None:
            return self._planned.holds(attempt)
        return line.outcome is not Outcome.NOT_ATTEMPTED

    @override
    async def take_in(
        self, task: Task, attempt: AttemptKey, destination: Path, context: GradingContext
    ) -> Submission:
        earlier = self._folder.attempt(attempt)
        record = earlier.record()
        if record is None:
            raise self._why_absent(self._lines.get(attempt))

        def copied() -> TreeDigest:
            copy_tree(earlier.submission, destination)
            return tree_digest(destination)

        tree = await in_thread(copied)
        if tree.digest != record.digest:
            raise MachineError(
                f"{earlier.submission} was changed after it was handed in: its digest is another one; restore it"
            )
        return record.but(**tree._asdict())

    def _why_absent(self, line: VerdictLine | None) -> Exception:
        if line is not None and line.submission is not None:  # it was there once
            return MachineError(f"its submission was removed from the run {self._folder.path}; put it back")
        if line is not None and line.verdict is not None and line.verdict.settles:
            return SubmissionError(line.verdict.reasons[0].message if line.verdict.reasons else "it was refused")
        return InfrastructureError(
            f"the run {self._folder.path} has not taken this attempt in; finish it with `groundup resume` first"
        )


class AgentSource(SubmissionOrigin):
    """The agent of a run, made from the configuration. Starts nothing."""

    def __init__(self, spec: Generated, suite: Suite) -> None:
        """Raises `UsageError` for an unknown agent, a wrong option, or a missing model."""
        self.spec = spec
        self.suite = suite
        from groundup.agents.opening import open_agent  # a run of references needs no agent

        self.agent = open_agent(spec.agent, spec.options)
        if self.agent.needs_model and spec.model is None:
            raise UsageError(f"the agent {spec.agent} needs a model; name one with -m PROVIDER/MODEL")
        if spec.extras:
            raise UsageError(
                "this run gave its agents tool servers or skills, which groundup does so no more; begin a new run"
            )
        if spec.rounds > 1 and not self.agent.goes_on:
            raise UsageError(
                f"the agent {spec.agent} does not look at what it handed in before, so a score helps it nothing; "
                "leave --rounds out"
            )

    @override
    def identity(self, attempts: Collection[AttemptKey]) -> Mapping[str, str]:
        agent = self.agent
        return {"agent": digest_of([agent.name, agent.version, agent.identity()])}


class ServedSource(SubmissionOrigin):
    """The clients of a server, which hand in what they want; how many there will be is not known."""


def check_instructions(suite: str, tasks: Mapping[str, Task]) -> None:
    """Raise `UsageError` when one of *tasks* has no instruction to give to an agent."""
    lacking = [name for name, task in tasks.items() if task.instruction is None]
    if lacking:
        raise UsageError(
            f"this machine has no specification of {lacking[0]}, which an agent needs; "
            f"fetch it with `groundup data pull {suite}`"
        )


MODEL_SETTINGS = (
    "base_url", "api", "key_variable", "context_tokens", "temperature", "max_output_tokens", "extra", "stream",
    "reasoning_effort",
    "timeout_s", "first_pause_s", "patience_s",
)  # fmt: skip
"""Settings of a model that a run's configuration holds: they may change replies, or are needed to resume."""


def submissions_of(suite_name: str, named: Generated, settings: Settings) -> References | Generated:
    """Return where the submissions of the subject come from that the user *named*.

    Raises `UsageError`, also for settings that nothing would heed.
    """
    references = open_suite(suite_name, settings).subjects
    if named.agent in references:
        if named != Generated(agent=named.agent):
            raise UsageError(f"{named.agent} is made by the suite itself and takes no model, options or limits")
        return References(which=named.agent)
    agent, options = _agent_of(named, references)
    model_settings = checked_model_settings(named.model, named.model_settings)
    return named.but(agent=agent, options=options, model_settings=model_settings)


def _agent_of(named: Generated, references: Collection[str]) -> tuple[str, dict[str, JsonValue]]:
    """Return the agent and its options; a program's name stands for the agent `cli` with the program's preset."""
    from groundup.agents.cli.preset import pinned_program, preset_names
    from groundup.agents.opening import AGENTS

    if ":" in named.agent or AGENTS.knows(named.agent):
        return named.agent, named.options

    program = pinned_program(named.agent)
    if program is None:
        known = [*references, *AGENTS.names(), *preset_names()]
        raise UsageError("; ".join([unknown("agent", named.agent, known), *lacking("subject")]))
    if PRESET in named.options:
        raise UsageError(f"-a {named.agent} names the program already; leave --agent-option preset=... out")
    return PROGRAM_AGENT, {PRESET: program, **named.options}


def _usual(model: str | None) -> dict[str, JsonValue]:
    """Return the address that the environment gives *model*; the run keeps it, whatever its next shell says."""
    if model is None:
        return {}
    from groundup.models.settings import usual_address

    address = usual_address(model)
    return {"base_url": address} if address else {}


def checked_model_settings(model: str | None, given: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return how *model* is asked, as far as a run keeps that: its usual address, and what is *given*.

    Raises `UsageError`.
    """
    from groundup.models.settings import ModelSettings

    settings = _usual(model) | given
    for name in settings:
        if name not in MODEL_SETTINGS:
            raise UsageError(unknown("setting of a model", name, MODEL_SETTINGS))
    try:
        checked = ModelSettings.model_validate(settings).model_dump(mode="json", include=set(settings))
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"model setting {'.'.join(map(str, first['loc']))}: {plainly(first)}") from error
    address = settings.get("base_url")
    if isinstance(address, str) and "@" in urlsplit(address).netloc:
        raise UsageError(
            "the model's address holds credentials, which runs never store; put the key into its own variable"
        )
    return checked
